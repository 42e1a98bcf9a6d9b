// All good all-reduces send 2(N-1) times the data in all; they spread it differently.
#include <algorithm>

#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/tree_all_reduce.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("A ring all-reduce sends fewer bytes than a tree.");
  const auto sent = [](const char* name, auto all_reduce) {
    const auto counters = myth::on_ranks(8, [&](comm::ProcessGroup& group, Device& device) {
      all_reduce(group, zeros({100'000}, DType::float32, device), ReduceOp::sum);
    });
    std::int64_t all = 0, busiest = 0;
    for (const auto& rank : counters.ranks) {
      all += rank.bytes_sent;
      busiest = std::max(busiest, rank.bytes_sent);
    }
    std::cout << "  " << name << "  all ranks " << all << " bytes, the busiest one " << busiest
              << "\n";
    return all;
  };
  std::cout << "400,000 bytes on each of 8 ranks\n";
  const std::int64_t ring = sent("ring", collectives::ring_all_reduce);
  const std::int64_t tree = sent("tree", collectives::tree_all_reduce);
  return myth::refuted_if(ring == tree,
                          "All ranks together send the same number of bytes; the ring only "
                          "spreads them evenly.");
}
