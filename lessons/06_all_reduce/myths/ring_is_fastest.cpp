// The ring sends the fewest bytes from each port, and takes the most steps.
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/tree_all_reduce.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("The ring is bandwidth-optimal, so it is the fastest all-reduce.");
  const auto timed = [](auto all_reduce, std::int64_t count) {
    return myth::on_ranks(64,
                          [&](comm::ProcessGroup& group, Device& device) {
                            all_reduce(group, zeros({count}, DType::float32, device),
                                       ReduceOp::sum);
                          })
               .makespan_s *
           1e6;
  };
  const double ring = timed(collectives::ring_all_reduce, 256);
  const double tree = timed(collectives::tree_all_reduce, 256);
  std::cout << "64 ranks, in virtual time\n"
            << "  1 kB: ring " << ring << " µs, tree " << tree << " µs\n"
            << "  4 MB: ring " << timed(collectives::ring_all_reduce, 1'000'000) << " µs, tree "
            << timed(collectives::tree_all_reduce, 1'000'000) << " µs\n";
  return myth::refuted_if(ring > 5 * tree,
                          "The ring sends the fewest bytes in the most steps, so a tree wins "
                          "while latency counts, and the ring when bytes do.");
}
