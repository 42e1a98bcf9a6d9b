// The case format of parallel_attention, shared by adapter and exam: that of a layer, whose options
// are the number of heads; or questions to qkv_rows, of which each is four options.
#pragma once

#include "engine/parallel/tensor/parallel_attention.hpp"
#include "grader/play/layer_play.hpp"

namespace lockstep {

namespace tensor_parallel {
template <typename Archive>
void fields(Archive& archive, RowRange& range) {
  archive(range.first, range.count);
}
}  // namespace tensor_parallel

}  // namespace lockstep

namespace lockstep::grader {

enum class AttentionAsked : std::int64_t { layer, rows };

// The parameters of the layer, in this order.
enum class AttentionWeight : std::uint8_t { qkv_weight, qkv_bias, proj_weight, proj_bias };

struct RowsQuestion {
  std::int64_t width = 1, heads = 1;
  int ranks = 1, rank = 0;
};
struct RowsAnswer {
  Ending ending{};
  tensor_parallel::RowRange queries{}, keys{}, values{};
};
template <typename Archive>
void fields(Archive& archive, RowsAnswer& answer) {
  archive(answer.ending, answer.queries, answer.keys, answer.values);
}

inline std::vector<std::int64_t> options_of(const std::vector<RowsQuestion>& questions) {
  std::vector<std::int64_t> all{static_cast<std::int64_t>(AttentionAsked::rows)};
  for (const RowsQuestion& q : questions) {
    all.insert(all.end(), {q.width, q.heads, q.ranks, q.rank});
  }
  return all;
}
inline std::vector<RowsQuestion> questions_in(const std::vector<std::int64_t>& options) {
  std::vector<RowsQuestion> all;
  for (std::size_t k = 1; k + 3 < options.size(); k += 4) {
    all.push_back({options[k], options[k + 1], static_cast<int>(options[k + 2]),
                   static_cast<int>(options[k + 3])});
  }
  return all;
}

}  // namespace lockstep::grader
