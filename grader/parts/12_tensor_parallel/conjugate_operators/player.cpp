// Plays conjugate_operators: one operator on a tape, or both with a product between them.
#include "engine/parallel/tensor/conjugate_operators.hpp"

#include "engine/autograd/operations.hpp"
#include "grader/parts/12_tensor_parallel/conjugate_operators/case.hpp"

namespace lockstep::grader {
namespace {

Value operators(Tape& tape, comm::ProcessGroup& group, std::deque<Parameter>& parameters,
                OperatorsAsked asked, const Value& x) {
  if (asked == OperatorsAsked::leave) return tensor_parallel::leave_parallel(tape, group, x);
  const Value entered = tensor_parallel::enter_parallel(tape, group, x);
  if (asked == OperatorsAsked::enter) return entered;
  const Value factors = tape.leaf(parameters.front());
  return tensor_parallel::leave_parallel(tape, group, autograd::multiply(tape, entered, factors));
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_layer(
      played, [](comm::ProcessGroup& group, std::deque<Parameter>& parameters, const LayerCase& c) {
        const auto asked = static_cast<OperatorsAsked>(c.options.at(0));
        return [&group, &parameters, asked](Tape& tape, const Value& x) {
          return operators(tape, group, parameters, asked, x);
        };
      });
}

}  // namespace lockstep::grader
