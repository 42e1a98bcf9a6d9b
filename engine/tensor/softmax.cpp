#include "engine/tensor/softmax.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {

void refuse_label(const char* operation, std::int64_t place, std::int64_t label,
                  std::int64_t classes) {
  if (place < 0) {
    throw ContractError(text(operation,
                             ": the mean of an empty batch, or of one whose labels are all "
                             "ignored, is undefined; use Reduction::sum"));
  }
  throw ContractError(
      text(operation, ": label ", label, " of row ", place, " is outside [0, ", classes, ")"));
}

namespace {

// Shapes now; what the labels are, when the device has looked.
void check_labels(const char* operation, const Tensor& logits, const Tensor& labels,
                  std::int64_t ignored, IndexRule::Some some) {
  check_float(operation, logits);
  check_indices(operation, logits, labels);
  const auto [rows, classes] = rows_of(operation, logits);
  Shape expected = logits.shape();
  expected.pop_back();
  LOCKSTEP_CHECK(labels.shape() == expected || labels.shape() == Shape{rows}, operation,
                 ": logits ", text_of(logits.shape()), " need labels ", text_of(expected),
                 ", got labels ", text_of(labels.shape()));
  logits.device().kernels().check_indices(labels,
                                          {operation, classes, ignored, some, &refuse_label});
}

IndexRule::Some needed_by(const CrossEntropyOptions& options) {
  return options.reduction == Reduction::mean ? IndexRule::Some::needed
                                              : IndexRule::Some::may_be_none;
}

}  // namespace

Tensor softmax(const Tensor& x) {
  check_float("softmax", x);
  rows_of("softmax", x);
  Tensor y = result(x, x.shape());
  x.device().kernels().softmax(x, y);
  charge(x, 13, 2);
  return y;
}

Tensor softmax_backward(const Tensor& grad, const Tensor& y) {
  check_float("softmax_backward", grad);
  check_same("softmax_backward", grad, y);
  rows_of("softmax_backward", y);
  Tensor out = result(y, y.shape());
  y.device().kernels().softmax_backward(grad, y, out);
  charge(y, 4, 3);
  return out;
}

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options) {
  check_labels("cross_entropy", logits, labels, options.ignored_label, needed_by(options));
  CrossEntropy out{statistic(logits, {1}), result(logits, logits.shape())};
  logits.device().kernels().cross_entropy(logits, labels, options, out.probabilities, out.loss);
  charge(logits, 13, 2);
  return out;
}

Tensor cross_entropy_backward(const Tensor& grad, const Tensor& probabilities, const Tensor& labels,
                              const CrossEntropyOptions& options) {
  check_labels("cross_entropy_backward", probabilities, labels, options.ignored_label,
               needed_by(options));
  LOCKSTEP_CHECK(grad.numel() == 1 && grad.dtype() == statistic_of(probabilities.dtype()),
                 "cross_entropy_backward: the loss's gradient is ", name_of(grad.dtype()), " ",
                 text_of(grad.shape()), ", expected one ",
                 name_of(statistic_of(probabilities.dtype())));
  Tensor out = result(probabilities, probabilities.shape());
  probabilities.device().kernels().cross_entropy_backward(grad, probabilities, labels, options,
                                                          out);
  charge(probabilities, 1, 2);
  return out;
}

std::int64_t count_correct(const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options) {
  LOCKSTEP_CHECK(logits.device().has_numbers(), "count_correct: its result is a number, and a ",
                 "tensor on the device '", logits.device().name(),
                 "' has none; leave the call out there");
  check_labels("count_correct", logits, labels, options.ignored_label,
               IndexRule::Some::may_be_none);
  const Tensor count = empty({1}, DType::int64, logits.device());
  logits.device().kernels().count_correct(logits, labels, count);
  charge(logits, 1, 1);
  return static_cast<std::int64_t>(number_of(count));
}

}  // namespace lockstep::ops
