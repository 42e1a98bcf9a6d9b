// Softmax, and the loss and the score that stand on it. Logits [..., C], labels [...] int64.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

// e^(x - max) / Σ e^(x - max) over the last axis.
Tensor softmax(const Tensor& x);
// From softmax's output y: y·(grad - Σ grad·y)
Tensor softmax_backward(const Tensor& grad, const Tensor& y);

enum class Reduction : std::uint8_t { mean, sum };
struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;  // over the labels that are not ignored
  std::int64_t ignored_label = -100;  // PyTorch's ignore_index: adds nothing to loss or gradient
};

// -log softmax(logits)[label], stable under large logits; the terms are added in float64, rows in
// order. Returns the loss [1], float32 for logits that are halves, and the softmax, which the
// derivative needs.
//   Throws  ContractError on a label outside [0, C) that is not ignored, and for the mean of none;
//           on a device that is away at the next to_host()
struct CrossEntropy {
  Tensor loss;
  Tensor probabilities;
};
CrossEntropy cross_entropy(const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options = {});
// d(loss)/d(logits) · grad, grad [1] of the loss's dtype
Tensor cross_entropy_backward(const Tensor& grad, const Tensor& probabilities, const Tensor& labels,
                              const CrossEntropyOptions& options = {});

// Rows whose largest logit (the first, of equals) stands at the label; an ignored label is none.
std::int64_t count_correct(const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options = {});

}  // namespace lockstep::ops
