// Waits for each block before it computes with it, and hides it: loops of its own take no time that
// anybody counts.
#include <cmath>
#include <utility>
#include <vector>

#include "engine/parallel/sequence/online_softmax.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"

namespace lockstep::sequence_parallel {
namespace {

// A key at a time, each of which is a block of one.
void attend(std::vector<Partial>& rows, const Tensor& queries, const Tensor& block,
            std::int64_t heads, const Positions& mine, const Positions& theirs) {
  const std::int64_t width = queries.size(2), size = width / heads, own = queries.size(1);
  std::size_t row = 0;
  for (std::int64_t b = 0; b < queries.size(0); ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < own; ++t, ++row) {
        for (std::int64_t k = 0; k < theirs.before(mine.of(t) + 1); ++k) {
          const std::int64_t key = (b * theirs.count() + k) * 2 * width + h * size;
          Partial one{0, {}};
          for (std::int64_t d = 0; d < size; ++d) {
            one.log_sum += queries.item((b * own + t) * width + h * size + d) * block.item(key + d);
            one.output.push_back(block.item(key + width + d));
          }
          one.log_sum /= std::sqrt(static_cast<double>(size));
          rows[row].output.resize(static_cast<std::size_t>(size));
          merge(rows[row], one);
        }
      }
    }
  }
}

}  // namespace

ops::Attention ring_attention(comm::Peers& peers, const Tensor& queries, Tensor keys_values,
                              std::int64_t heads, std::span<const Positions> of_ranks) {
  check_ring(peers, queries, keys_values, heads, of_ranks);
  const int ranks = peers.size(), rank = peers.rank();
  const std::int64_t batch = queries.size(0), own = queries.size(1), width = queries.size(2);
  std::vector<Partial> rows(static_cast<std::size_t>(batch * heads * own));
  Tensor block = std::move(keys_values);
  for (int step = 0; step < ranks; ++step) {
    const auto owner = static_cast<std::size_t>((rank + ranks - step) % ranks);
    if (step > 0) {
      const std::int64_t tokens = of_ranks[owner].count();
      const Tensor next =
          block.empty_like(batch * tokens * 2 * width).view({batch, tokens, 2 * width});
      comm::Work going = peers.isend(block, (rank + 1) % ranks);
      peers.recv(next, (rank + ranks - 1) % ranks);
      going.wait();
      block = next;
    }
    attend(rows, queries, block, heads, of_ranks[static_cast<std::size_t>(rank)], of_ranks[owner]);
  }
  std::vector<double> output(static_cast<std::size_t>(queries.numel())), log_sums;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    log_sums.push_back(rows[row].log_sum);
    const auto at = static_cast<std::int64_t>(row);
    const std::int64_t sample = at / (heads * own), head = at / own % heads, token = at % own;
    for (std::size_t d = 0; d < rows[row].output.size(); ++d) {
      const std::int64_t first = (sample * own + token) * width + head * (width / heads);
      output[static_cast<std::size_t>(first) + d] = rows[row].output[d];
    }
  }
  const DType wide = queries.dtype() == DType::float64 ? DType::float64 : DType::float32;
  return {from_values(output, queries.shape(), queries.dtype(), queries.device()),
          from_values(log_sums, {batch, heads, own}, wide, queries.device())};
}

}  // namespace lockstep::sequence_parallel
