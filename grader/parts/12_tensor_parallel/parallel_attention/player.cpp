// Plays parallel_attention: the layer on a tape, with this rank's share of its weights; or asks
// which rows of the fused projection are whose.
#include "grader/parts/12_tensor_parallel/parallel_attention/case.hpp"

namespace lockstep::grader {
namespace {

std::vector<RowsAnswer> answer_rows(comm::ProcessGroup&, const LayerCase& c, Device&) {
  std::vector<RowsAnswer> all;
  for (const RowsQuestion& q : questions_in(c.options)) {
    RowsAnswer& answer = all.emplace_back();
    answer.ending = ending_of<ContractError>([&] {
      const auto ranges = tensor_parallel::qkv_rows(q.width, q.heads, q.ranks, q.rank);
      answer.queries = ranges[0];
      answer.keys = ranges[1];
      answer.values = ranges[2];
    });
  }
  return all;
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  ByteReader peek = played.input;  // which of the two is asked
  const auto asked = read_fields<LayerCase>(peek).options;
  if (!asked.empty() && asked.front() == static_cast<std::int64_t>(AttentionAsked::rows)) {
    return play_in_group<LayerCase>(played, answer_rows);
  }
  return play_layer(
      played, [](comm::ProcessGroup& group, std::deque<Parameter>& parameters, const LayerCase& c) {
        const std::int64_t heads = c.options.at(1);
        return [&group, &parameters, &c, heads](Tape& tape, const Value& x) {
          const auto leaf = [&](AttentionWeight of) {
            return leaf_of(tape, parameters, static_cast<std::size_t>(of), c);
          };
          const tensor_parallel::AttentionShare share{
              leaf(AttentionWeight::qkv_weight), leaf(AttentionWeight::qkv_bias),
              leaf(AttentionWeight::proj_weight), leaf(AttentionWeight::proj_bias)};
          return tensor_parallel::parallel_attention(tape, group, x, share, heads);
        };
      });
}

}  // namespace lockstep::grader
