// Plays online_softmax: merges partial results in the order that a question says.
#include "grader/parts/15_sequence_parallel/online_softmax/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {
namespace {

MergeAnswer answer_of(const MergeQuestion& question) {
  auto all = question.partials;
  std::vector<std::uint8_t> written(all.size());
  for (const auto& [into, from] : question.merges) {
    const auto to = static_cast<std::size_t>(into);
    written[to] = 1;
    sequence_parallel::merge(all[to], all[static_cast<std::size_t>(from)]);
  }
  MergeAnswer answer{.merged = all.front()};
  for (std::size_t k = 0; k < all.size(); ++k) {
    const bool same = fields_to_bytes(all[k]) == fields_to_bytes(question.partials[k]);
    answer.changed = answer.changed || (written[k] == 0 && !same);
  }
  return answer;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return answer_each<MergeQuestion>(played, answer_of); }

}  // namespace lockstep::grader
