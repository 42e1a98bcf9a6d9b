// Plays column_parallel_linear: the layer on a tape, with this rank's rows of its weight.
#include "grader/parts/12_tensor_parallel/column_parallel_linear/case.hpp"

namespace lockstep::grader {
namespace {

using tensor_parallel::ColumnOutput;

Value layer(Tape& tape, comm::ProcessGroup& group, std::deque<Parameter>& parameters,
            const LayerCase& c, ColumnOutput output, const Value& x) {
  const Value weight = leaf_of(tape, parameters, 0, c);
  std::optional<Value> bias;
  if (parameters.size() > 1) bias = leaf_of(tape, parameters, 1, c);
  return tensor_parallel::column_parallel_linear(tape, group, x, weight, bias, output);
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_layer(
      played, [](comm::ProcessGroup& group, std::deque<Parameter>& parameters, const LayerCase& c) {
        const bool whole = c.options.at(static_cast<std::size_t>(ColumnOption::whole)) != 0;
        const ColumnOutput output = whole ? ColumnOutput::whole : ColumnOutput::share;
        return [&group, &parameters, &c, output](Tape& tape, const Value& x) {
          return layer(tape, group, parameters, c, output, x);
        };
      });
}

}  // namespace lockstep::grader
