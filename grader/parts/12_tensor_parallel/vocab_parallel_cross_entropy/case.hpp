// The case format of vocab_parallel_cross_entropy, shared by adapter and exam.
#pragma once

#include "engine/base/dtype.hpp"
#include "engine/tensor/softmax.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// A loss to compute, and the gradient of it to go back with.
struct VocabCall {
  std::int64_t vocabulary = 1, columns = 1;  // of the whole rows, and of this rank's logits
  std::vector<std::int64_t> shape{};         // of the labels
  std::vector<std::int64_t> labels{};
  Bytes logits{};  // this rank's columns
  ops::Reduction reduction = ops::Reduction::mean;
  std::int64_t ignored_label = -100;
  double gradient = 1;
};

// back: all calls go forward, then back, in another order. refused: the part must say so.
enum class VocabWalk : std::uint8_t { back, inference, refused };

struct VocabCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;  // of the logits
  VocabWalk walk = VocabWalk::back;
  std::vector<VocabCall> calls{};
};

struct VocabReport {
  Ending ending{};
  DType dtype = DType::float64;  // of the loss
  Bytes loss{};
  bool defined = false;  // the gradient
  Bytes gradient{};
  bool changed = false;  // the logits
};

template <typename Archive>
void fields(Archive& archive, VocabCall& call) {
  archive(call.vocabulary, call.columns, call.shape, call.labels, call.logits, call.reduction,
          call.ignored_label, call.gradient);
}
template <typename Archive>
void fields(Archive& archive, VocabCase& c) {
  archive(c.group, c.peer, c.dtype, c.walk, c.calls);
}
template <typename Archive>
void fields(Archive& archive, VocabReport& report) {
  archive(report.ending, report.dtype, report.loss, report.defined, report.gradient,
          report.changed);
}

}  // namespace lockstep::grader
