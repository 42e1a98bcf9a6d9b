// A reduce that sums in place, as a tree in a library may, leaves partial sums on the way.
#include <vector>

#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

void reduce_in_place(comm::Peers& peers, const Tensor& data) {
  const Tensor other = data.empty_like(data.numel());
  for (int step = 1; step < peers.size(); step *= 2) {
    if ((peers.rank() & step) != 0) return peers.send(data, peers.rank() - step);
    peers.recv(other, peers.rank() + step);
    data.reduce_(other, ReduceOp::sum);
  }
}

}  // namespace

int main() {
  myth::claim("A reduce leaves the tensors of all ranks but the root as they were.");
  std::vector<double> after(4);
  myth::on_ranks(4, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor data = full({1}, group.rank() + 1, DType::float64, device);
    reduce_in_place(group, data);
    after[static_cast<std::size_t>(group.rank())] = data.item();
  });
  for (std::size_t rank = 0; rank < after.size(); ++rank) {
    std::cout << "rank " << rank << " brings " << rank + 1 << " and is left with " << after[rank]
              << "\n";
  }
  return myth::refuted_if(after == std::vector<double>{10, 2, 7, 4},
                          "On the ranks that are not the root, the tensor may hold anything "
                          "afterwards, such as a partial sum.");
}
