// Plays dispatch_and_combine on a tape, with this rank's tokens, plan and experts.
#include "engine/autograd/operations.hpp"
#include "grader/parts/14_expert_parallel/dispatch_and_combine/case.hpp"

namespace lockstep::grader {

// Each of this rank's experts multiplies its rows by its matrix, and makes 1 + y + max(y, 0) of
// each element: were it linear, weights could as well be multiplied into the rows before.
static Value computed(Tape& tape, std::deque<Parameter>& parameters, const LayerCase& c,
                      const Value& rows, std::span<const std::int64_t> of_experts) {
  const std::int64_t width = rows.tensor.size(1);
  const Value ones = tape.constant(full({width}, 1, rows.tensor.dtype(), rows.tensor.device()));
  std::int64_t first = 0;
  std::vector<Value> parts;
  for (std::size_t e = 0; e + 1 < parameters.size() && e < of_experts.size(); ++e) {
    const Value mine = autograd::narrow(tape, rows, 0, first, of_experts[e]);
    const Value y = autograd::linear(tape, mine, leaf_of(tape, parameters, e + 1, c));
    const Value bent = autograd::add(tape, y, autograd::relu(tape, y));
    parts.push_back(autograd::add(tape, bent, ones));
    first += of_experts[e];
  }
  if (first != rows.tensor.size(0) || of_experts.size() + 1 != parameters.size()) {
    throw Error(text("the experts were called with ", rows.tensor.size(0), " rows, but the ",
                     of_experts.size(), " counts that say whose they are add up to ", first));
  }
  return autograd::concatenate(tape, parts, 0);
}

Bytes play(sim::PlayerCase& played) {
  return play_layer(
      played, [](comm::ProcessGroup& group, std::deque<Parameter>& parameters, const LayerCase& c) {
        return [&group, &parameters, &c, plan = plan_of_options(c.options)](Tape& tape,
                                                                            const Value& tokens) {
          return expert_parallel::dispatch_and_combine(
              tape, group, plan, tokens, leaf_of(tape, parameters, 0, c),
              [&](Tape& of, const Value& rows, std::span<const std::int64_t> of_experts) {
                return computed(of, parameters, c, rows, of_experts);
              });
        };
      });
}

}  // namespace lockstep::grader
