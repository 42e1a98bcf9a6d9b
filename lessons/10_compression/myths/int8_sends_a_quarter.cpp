// Integers with different scales cannot be added on the way, so each rank sends its own to all
// others.
#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Gradients of 8 bits send a quarter of the bytes of float32.");
  const std::int64_t count = 64 * 100;
  bool more = false;
  for (const int ranks : {2, 4, 8, 16, 64}) {
    const auto gathered = myth::on_ranks(ranks, [&](comm::ProcessGroup& group, Device& device) {
      const Tensor mine = zeros({count}, DType::uint8, device);
      collectives::all_gather(group, mine, mine.empty_like(count * ranks));
    });
    const auto summed = myth::on_ranks(ranks, [&](comm::ProcessGroup& group, Device& device) {
      collectives::ring_all_reduce(group, zeros({count}, DType::float32, device), ReduceOp::sum);
    });
    const double times = static_cast<double>(gathered.ranks[0].bytes_sent) /
                         static_cast<double>(summed.ranks[0].bytes_sent);
    std::cout << ranks << " ranks: 8 bits, gathered, send " << times
              << " times what the ring sends in float32\n";
    more = times > 1;
  }
  return myth::refuted_if(more,
                          "Gathered bytes grow with the number of ranks, so with many ranks they "
                          "are more than the ring sends in float32.");
}
