// A collective returns on each rank when that rank's part is done.
#include <algorithm>
#include <vector>

#include "engine/collectives/reduce.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("A collective returns on all ranks at the same time.");
  std::vector<double> returned(8);
  myth::on_ranks(8, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor data = zeros({250'000}, DType::float32, device);
    collectives::reduce(group, data, 0, ReduceOp::sum);
    returned[static_cast<std::size_t>(group.rank())] = group.now_s() * 1e6;
  });
  std::cout << "a reduce of 1 MB to rank 0 by a tree\n";
  for (std::size_t rank = 0; rank < returned.size(); ++rank) {
    std::cout << "  returns on rank " << rank << " after " << returned[rank] << " µs\n";
  }
  const auto [first, last] = std::ranges::minmax(returned);
  return myth::refuted_if(last > 2 * first,
                          "A rank returns when its own part is over, so a collective is no "
                          "barrier.");
}
