// A walk back over one tape that is a step of the walk over another tape. An operation that was
// recorded on the outer tape has, inside, a computation of its own; the inner tape's gradients are
// the operation's. They touch neither the parameters' grads nor their hooks: the outer walk does
// that.
#pragma once

#include <memory>
#include <vector>

#include "engine/autograd/tape.hpp"

namespace lockstep::autograd {

class InnerWalk {
 public:
  //   inner       has recorded the computation from `input` (its Tape::input()) to `output`
  //   parameters  whose gradients are wanted, each once
  InnerWalk(std::unique_ptr<Tape> inner, Value input, Value output,
            std::vector<Parameter*> parameters);

  // Returns what a Tape::Backward on `outer` returns: the gradient of the input, then those of the
  // parameters; zeros if the output does not depend on one. If the outer walk goes in two halves
  // (Tape::in_halves), so does the inner one: what it puts off is undefined here, and comes with
  // end(). The inner tape is freed as soon as nothing is put off.
  //   grad  of the output
  std::vector<Tensor> begin(const Tape& outer, const Tensor& grad);
  // Returns what the `rest` beside it returns: the gradients that begin() did not give.
  std::vector<Tensor> end();

 private:
  std::vector<Tensor> all();

  std::unique_ptr<Tape> inner_;
  Value input_, output_;
  std::vector<Parameter*> parameters_;
  std::vector<Tensor> found_;  // of the input and the parameters; undefined until it is
  std::vector<bool> given_;    // those of the first half, where there are two
};

}  // namespace lockstep::autograd
