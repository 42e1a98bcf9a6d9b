// Plays column_parallel_linear: the layer on a tape, with this rank's rows of its weight.
#include "grader/parts/12_tensor_parallel/column_parallel_linear/case.hpp"

namespace lockstep::grader {
namespace {

using tensor_parallel::ColumnOutput;

Value layer(Tape& tape, comm::ProcessGroup& group, std::deque<Parameter>& parameters,
            ColumnOutput output, const Value& x) {
  const Value weight = tape.leaf(parameters.front());
  std::optional<Value> bias;
  if (parameters.size() > 1) bias = tape.leaf(parameters.back());
  return tensor_parallel::column_parallel_linear(tape, group, x, weight, bias, output);
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_layer(
      played, [](comm::ProcessGroup& group, std::deque<Parameter>& parameters, const LayerCase& c) {
        const bool whole = c.options.at(static_cast<std::size_t>(ColumnOption::whole)) != 0;
        const ColumnOutput output = whole ? ColumnOutput::whole : ColumnOutput::share;
        return [&group, &parameters, output](Tape& tape, const Value& x) {
          return layer(tape, group, parameters, output, x);
        };
      });
}

}  // namespace lockstep::grader
