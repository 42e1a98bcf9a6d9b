// Plays row_parallel_linear: the layer on a tape, with this rank's columns of its weight; or the
// pair of a column-parallel layer and this one, with an activation between them.
#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "grader/parts/12_tensor_parallel/row_parallel_linear/case.hpp"

namespace lockstep::grader {
namespace {

// The leaves of a case's parameters, in order.
class Leaves {
 public:
  Leaves(Tape& tape, std::deque<Parameter>& parameters, const LayerCase& c)
      : tape_(tape), parameters_(parameters), case_(c) {}
  Value next() { return leaf_of(tape_, parameters_, next_++, case_); }

 private:
  Tape& tape_;
  std::deque<Parameter>& parameters_;
  const LayerCase& case_;
  std::size_t next_ = 0;
};

Value layer(Tape& tape, comm::ProcessGroup& group, std::deque<Parameter>& parameters,
            const LayerCase& c, const Value& x) {
  const auto asked = [&](RowOption option) {
    return c.options.at(static_cast<std::size_t>(option)) != 0;
  };
  Leaves leaves(tape, parameters, c);
  Value between = x;
  if (asked(RowOption::pair)) {
    const Value weight = leaves.next(), bias = leaves.next();
    between = tensor_parallel::column_parallel_linear(tape, group, x, weight, bias,
                                                      tensor_parallel::ColumnOutput::share);
    between = autograd::relu(tape, between);
  }
  const Value weight = leaves.next();
  std::optional<Value> bias;
  if (asked(RowOption::biased)) bias = leaves.next();
  return tensor_parallel::row_parallel_linear(tape, group, between, weight, bias);
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_layer(
      played, [](comm::ProcessGroup& group, std::deque<Parameter>& parameters, const LayerCase& c) {
        return [&group, &parameters, &c](Tape& tape, const Value& x) {
          return layer(tape, group, parameters, c, x);
        };
      });
}

}  // namespace lockstep::grader
