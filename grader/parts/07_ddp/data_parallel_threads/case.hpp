// The case format of data_parallel_threads, shared by adapter and exam.
#pragma once

#include <algorithm>

#include "engine/base/dtype.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// Some steps on the devices of one process.
struct ThreadsQuestion {
  enum class Breaks : std::uint8_t { nothing, forward, backward };

  std::int64_t devices = 1;
  DType dtype = DType::float64;
  std::uint64_t model_seed = 0;  // of replica d: this plus d
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> batches;  // samples, by step
  std::vector<double> inputs;         // of all steps: [samples · widths.front()]
  std::vector<std::int64_t> labels;   // [samples]
  Breaks breaks = Breaks::nothing;    // what one of the devices does in the last step
  std::int64_t broken = 0;            // which
  std::uint8_t keeps = 0;             // the master's gradients of a step stay for the next

  std::int64_t chunk(std::int64_t batch) const { return (batch + devices - 1) / devices; }
  // Devices that have samples of such a batch.
  std::int64_t used(std::int64_t batch) const { return (batch + chunk(batch) - 1) / chunk(batch); }
  // The samples of device d.
  std::int64_t samples(std::int64_t batch, std::int64_t d) const {
    return std::clamp<std::int64_t>(batch - d * chunk(batch), 0, chunk(batch));
  }
};

// When a device was in a pass, from the beginning of the step on.
struct PassSpan {
  double from_s = 0, to_s = 0;
};

// The fakes' record of one step.
struct ThreadsStep {
  double loss = 0;
  std::vector<Bytes> gradients;               // the master's, in the order of its parameters
  std::int64_t from_0 = 0, to_0 = 0;          // bytes that were copied from device 0, and to it
  std::int64_t others = 0;                    // between two other devices, or within one
  std::int64_t away = 0;                      // passes whose inputs were on another device
  std::int64_t left = 0;                      // gradients that other replicas have afterwards
  std::vector<std::int64_t> forwarded;        // samples that went through each replica
  std::vector<PassSpan> forwards, backwards;  // of each device
};
struct ThreadsAnswer {
  std::vector<ThreadsStep> steps;
  Ending last;  // how the last call ended
};

template <typename Archive>
void fields(Archive& archive, ThreadsQuestion& q) {
  archive(q.devices, q.dtype, q.model_seed, q.widths, q.batches, q.inputs, q.labels, q.breaks,
          q.broken, q.keeps);
}
template <typename Archive>
void fields(Archive& archive, PassSpan& span) {
  archive(span.from_s, span.to_s);
}
template <typename Archive>
void fields(Archive& archive, ThreadsStep& step) {
  archive(step.loss, step.gradients, step.from_0, step.to_0, step.others, step.away, step.left,
          step.forwarded, step.forwards, step.backwards);
}
template <typename Archive>
void fields(Archive& archive, ThreadsAnswer& answer) {
  archive(answer.steps, answer.last);
}

}  // namespace lockstep::grader
