// A barrier tells that all ranks have come, and nothing of messages under way.
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("After a barrier, every message that was sent before it has arrived.");
  double passed = 0, arrived = 0;  // on rank 1, in virtual seconds
  myth::on_ranks(2, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor data = zeros({25'000'000}, DType::float32, device);
    comm::Work message = group.rank() == 0 ? group.isend(data, 1) : group.irecv(data, 0);
    group.barrier();
    if (group.rank() == 1) passed = group.now_s();
    message.wait();
    if (group.rank() == 1) arrived = group.now_s();
  });
  std::cout << "rank 0 sends 100 MB, and then both ranks enter a barrier\n"
            << "  rank 1 passes the barrier after  " << passed * 1e6 << " µs\n"
            << "  the message is there after       " << arrived * 1e6 << " µs\n";
  return myth::refuted_if(passed > 0 && arrived > 10 * passed,
                          "A barrier says that all ranks have come to it, not that their "
                          "messages have arrived: wait for the message itself.");
}
