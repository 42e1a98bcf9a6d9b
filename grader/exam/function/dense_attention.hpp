// Attention in plain loops of double, for the one device of an exam: any query may see any keys.
#pragma once

#include <cstdint>
#include <functional>

#include "grader/exam/function/dense_numbers.hpp"

namespace lockstep::grader {

struct AttentionSizes {
  std::int64_t batch = 1, tokens = 1, heads = 1, head_size = 1;

  std::int64_t width() const { return heads * head_size; }
};

// True if a token sees another one of its sample.
using Sees = std::function<bool(std::int64_t query, std::int64_t key)>;
inline bool is_no_later(std::int64_t query, std::int64_t key) { return key <= query; }

// softmax(q·kᵀ/√D)·v of each head, over the keys that a query sees. A query that sees none has the
// output 0 and the log-sum -∞.
//   qkv  [B, T, 3·C]: a token's queries, then keys, then values, each of them head by head
class DenseAttention {
 public:
  explicit DenseAttention(const AttentionSizes& sizes, Sees sees = is_no_later)
      : s_(sizes), sees_(std::move(sees)) {}

  Numbers forward(const Numbers& qkv) const;   // [B, T, C]
  Numbers log_sums(const Numbers& qkv) const;  // [B, H, T]
  // [B, T, 3·C]; grad [B, T, C], of the output
  Numbers backward(const Numbers& qkv, const Numbers& grad) const;

 private:
  struct Row {
    std::int64_t batch, head, token;
    std::vector<std::int64_t> keys{};  // that the query sees
    Numbers shares{};                  // its softmax over them
    double log_sum = 0;
  };
  void each_row(const Numbers& qkv, const std::function<void(const Row&)>& visit) const;
  Row row_of(const Numbers& qkv, std::int64_t batch, std::int64_t head, std::int64_t token) const;
  // The place of column d: queries are 0, keys 1, values 2.
  std::size_t place(const Row& row, std::int64_t token, std::int64_t which, std::int64_t d) const;
  std::size_t output_place(const Row& row, std::int64_t d) const;

  AttentionSizes s_;
  Sees sees_;
};

}  // namespace lockstep::grader
