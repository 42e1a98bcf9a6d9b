// What leaves one port leaves it one after the other, however few steps there are.
#include "engine/collectives/broadcast.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("One step is best: the root sends to all.");
  const auto timed = [](auto send_to_all) {
    return myth::on_ranks(256, [&](comm::ProcessGroup& group, Device& device) {
      send_to_all(group, zeros({25'000}, DType::float32, device));
    });
  };
  const auto star = timed([](comm::Peers& peers, const Tensor& data) {
    if (peers.rank() != 0) return peers.recv(data, 0);
    for (int dst = 1; dst < peers.size(); ++dst) peers.send(data, dst);
  });
  const auto tree =
      timed([](comm::Peers& peers, const Tensor& data) { collectives::broadcast(peers, data, 0); });
  std::cout << "a broadcast of 100 kB to 256 ranks\n"
            << "  in one step     " << star.makespan_s * 1e6 << " µs\n"
            << "  in " << tree.depth << " steps      " << tree.makespan_s * 1e6 << " µs\n";
  return myth::refuted_if(star.makespan_s > 5 * tree.makespan_s,
                          "One step is N − 1 messages from one port, one behind the other; a "
                          "tree has more steps, and more ports that send.");
}
