// An entry is a place and a value, and every rank needs the entries of all ranks.
#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Top-k with 1 % of the entries sends a hundredth of the bytes.");
  const std::int64_t count = 12'800, entries = count / 100;
  const std::int64_t entry_bytes = 4 + 4;  // its place, and its value
  double times = 0;
  for (const int ranks : {2, 16, 64, 128}) {
    const auto top_k = myth::on_ranks(ranks, [&](comm::ProcessGroup& group, Device& device) {
      const Tensor mine = zeros({entries * entry_bytes}, DType::uint8, device);
      collectives::all_gather(group, mine, mine.empty_like(mine.numel() * ranks));
    });
    const auto ring = myth::on_ranks(ranks, [&](comm::ProcessGroup& group, Device& device) {
      collectives::ring_all_reduce(group, zeros({count}, DType::float32, device), ReduceOp::sum);
    });
    times = static_cast<double>(top_k.ranks[0].bytes_sent) /
            static_cast<double>(ring.ranks[0].bytes_sent);
    std::cout << ranks << " ranks: top-k sends " << 100 * times << " % of what the ring sends\n";
  }
  return myth::refuted_if(times > 1,
                          "Entries travel with their places, and to every rank, so the traffic "
                          "grows with the number of ranks.");
}
