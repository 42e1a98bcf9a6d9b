// In a tree each step sends all of the data again; long data is better cut and put together.
#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/broadcast.hpp"
#include "engine/collectives/scatter.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("A tree takes log2(N) steps, so no broadcast is faster.");
  const std::int64_t count = 1 << 22;
  const auto tree = myth::on_ranks(16, [&](comm::ProcessGroup& group, Device& device) {
    collectives::broadcast(group, zeros({count}, DType::float32, device), 0);
  });
  const auto cut = myth::on_ranks(16, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor data = zeros({count}, DType::float32, device);
    const Tensor mine = data.empty_like(count / group.size());
    collectives::scatter(group, data, mine, 0);
    collectives::all_gather(group, mine, data);
  });
  std::cout << "a broadcast of 16.8 MB to 16 ranks\n"
            << "  by a tree                      " << tree.makespan_s * 1e3 << " ms\n"
            << "  by a scatter and an all-gather " << cut.makespan_s * 1e3 << " ms\n";
  return myth::refuted_if(cut.makespan_s < tree.makespan_s,
                          "A tree sends the whole tensor in every step; for large tensors, a "
                          "scatter and an all-gather send it only about twice in all.");
}
