// A send may wait until its receive is posted, and two that wait for each other wait for ever.
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("send() does not block: it hands the data over and returns.");
  try {
    myth::on_ranks(2, [](comm::ProcessGroup& group, Device& device) {
      const Tensor mine = zeros({1'000'000}, DType::float32, device);
      const Tensor theirs = mine.empty_like(mine.numel());
      group.send(mine, 1 - group.rank());
      group.recv(theirs, 1 - group.rank());
    });
  } catch (const Error& error) {
    const std::string diagnosis = error.what();
    std::cout << "two ranks send 4 MB to each other, and then receive\n" << diagnosis << "\n";
    return myth::refuted_if(diagnosis.starts_with("deadlock"),
                            "send() waits for its receive, so two ranks that both send first "
                            "wait for ever; isend() is what does not block.");
  }
  return myth::refuted_if(false,
                          "send() waits for its receive, so two ranks that both send first wait "
                          "for ever; isend() is what does not block.");
}
