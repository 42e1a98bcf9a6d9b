// Results are merged here, row by row with merge(), in a table of doubles that becomes a tensor in
// the end. It begins with no key seen.
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/online_softmax.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"

namespace lockstep::sequence_parallel {
namespace {

class Table {
 public:
  Table(const Tensor& queries, std::int64_t heads)
      : batch_(queries.size(0)),
        tokens_(queries.size(1)),
        heads_(heads),
        size_(queries.size(2) / heads),
        rows_(static_cast<std::size_t>(batch_ * heads * tokens_)) {
    for (Partial& row : rows_) row.output.resize(static_cast<std::size_t>(size_));
  }

  void take(const ops::Attention& block) {
    Partial one{0, std::vector<double>(static_cast<std::size_t>(size_))};
    each([&](std::int64_t row, std::int64_t first) {
      one.log_sum = block.log_sums.item(row);
      for (std::int64_t d = 0; d < size_; ++d) {
        one.output[static_cast<std::size_t>(d)] = block.output.item(first + d);
      }
      merge(rows_[static_cast<std::size_t>(row)], one);
    });
  }

  ops::Attention result(const Tensor& queries) const {
    std::vector<double> output(static_cast<std::size_t>(queries.numel())), log_sums;
    each([&](std::int64_t row, std::int64_t first) {
      const Partial& one = rows_[static_cast<std::size_t>(row)];
      for (std::size_t d = 0; d < one.output.size(); ++d) {
        output[static_cast<std::size_t>(first) + d] = one.output[d];
      }
      log_sums.push_back(one.log_sum);
    });
    const bool wide = queries.dtype() == DType::float64;
    return {from_values(output, queries.shape(), queries.dtype(), queries.device()),
            from_values(log_sums, {batch_, heads_, tokens_}, wide ? DType::float64 : DType::float32,
                        queries.device())};
  }

 private:
  // Calls visit(row of the log-sums, its first element of the output).
  void each(const auto& visit) const {
    std::int64_t row = 0;
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t h = 0; h < heads_; ++h) {
        for (std::int64_t t = 0; t < tokens_; ++t) {
          visit(row++, ((b * tokens_ + t) * heads_ + h) * size_);
        }
      }
    }
  }

  std::int64_t batch_, tokens_, heads_, size_;
  std::vector<Partial> rows_;
};

}  // namespace

ops::Attention ring_attention(comm::Peers& peers, const Tensor& queries, Tensor keys_values,
                              std::int64_t heads, std::span<const Positions> of_ranks) {
  check_ring(peers, queries, keys_values, heads, of_ranks);
  const int ranks = peers.size(), rank = peers.rank();
  const auto slice = [&](int step) -> const Positions& {
    return of_ranks[static_cast<std::size_t>((rank + ranks - step) % ranks)];
  };
  Table table(queries, heads);
  Tensor block = std::move(keys_values);
  for (int step = 0; step + 1 < ranks; ++step) {
    const Tensor next = empty({block.size(0), slice(step + 1).count(), block.size(2)},
                              block.dtype(), block.device());
    comm::Work going = peers.isend(block, (rank + 1) % ranks);
    comm::Work coming = peers.irecv(next, (rank + ranks - 1) % ranks);
    table.take(ops::attention(queries, block, {heads, slice(0), slice(step)}));
    going.wait();
    coming.wait();
    block = next;
  }
  table.take(ops::attention(queries, block, {heads, slice(0), slice(ranks - 1)}));
  return table.result(queries);
}

}  // namespace lockstep::sequence_parallel
