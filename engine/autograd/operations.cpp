// Each differentiable operation: its value, and next to it the derivative that the tape will call.
// B batch, I inputs, O outputs.
#include <utility>

#include "engine/autograd/tape.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::autograd {

using ops::Transpose;

Value linear(Tape& tape, const Value& x, const Value& weight, const Value& bias) {
  Tensor y = ops::add_row(  // [B, O]
      ops::matmul(x.tensor, Transpose::no, weight.tensor, Transpose::yes), bias.tensor);
  return tape.record(std::move(y), {x, weight, bias},
                     [x, weight, bias](const Tensor& grad) -> std::vector<Tensor> {
                       std::vector<Tensor> grads(3);
                       if (x.node >= 0)
                         grads[0] = ops::matmul(grad, Transpose::no, weight.tensor, Transpose::no);
                       if (weight.node >= 0)
                         grads[1] = ops::matmul(grad, Transpose::yes, x.tensor, Transpose::no);
                       if (bias.node >= 0) grads[2] = ops::sum_rows(grad);
                       return grads;
                     });
}

Value relu(Tape& tape, const Value& x) {
  const Tensor y = ops::relu(x.tensor);
  return tape.record(y, {x}, [y](const Tensor& grad) -> std::vector<Tensor> {
    return {ops::relu_backward(grad, y)};
  });
}

Value add(Tape& tape, const Value& a, const Value& b) {
  return tape.record(ops::add(a.tensor, b.tensor), {a, b},
                     [](const Tensor& grad) -> std::vector<Tensor> {
                       return {grad, grad};
                     });
}

Value multiply(Tape& tape, const Value& a, const Value& b) {
  return tape.record(ops::multiply(a.tensor, b.tensor), {a, b},
                     [a, b](const Tensor& grad) -> std::vector<Tensor> {
                       std::vector<Tensor> grads(2);
                       if (a.node >= 0) grads[0] = ops::multiply(grad, b.tensor);
                       if (b.node >= 0) grads[1] = ops::multiply(grad, a.tensor);
                       return grads;
                     });
}

Value cross_entropy(Tape& tape, const Value& logits, const Tensor& labels) {
  auto [loss, probabilities] = ops::cross_entropy(logits.tensor, labels);
  return tape.record(std::move(loss), {logits},
                     [p = std::move(probabilities), labels](const Tensor& grad) {
                       return std::vector{ops::cross_entropy_backward(grad.item(), p, labels)};
                     });
}

}  // namespace lockstep::autograd
