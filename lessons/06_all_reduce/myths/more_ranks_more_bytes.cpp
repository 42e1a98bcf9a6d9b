// 2(N-1)/N of the data tends to twice the data; what grows with the ranks is the number of steps.
#include "engine/collectives/ring_all_reduce.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("The more ranks, the more each rank sends in an all-reduce.");
  const std::int64_t count = 3 * 512;
  bool within_twice = true;
  for (const int ranks : {2, 8, 32, 128, 512}) {
    const auto counters = myth::on_ranks(ranks, [&](comm::ProcessGroup& group, Device& device) {
      const Tensor data = zeros({count}, DType::float32, device);
      collectives::ring_all_reduce(group, data, ReduceOp::sum);
    });
    const double times = static_cast<double>(counters.ranks[0].bytes_sent) / (4 * count);
    std::cout << ranks << " ranks: each sends its data " << times << " times, in " << counters.depth
              << " steps\n";
    within_twice = within_twice && times < 2;
  }
  return myth::refuted_if(within_twice,
                          "Each rank of a ring sends less than twice its data, however many "
                          "ranks there are; what grows is the number of steps.");
}
