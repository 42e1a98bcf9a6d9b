// The case format of data_parallel_threads, shared by adapter and exam. The numbers that a pass
// needs are split between the two sides: the judge has noise that is added to the inputs of each
// sample, and factors by which the gradients of its outputs are multiplied. A device gets both from
// the judge, each after the time that its pass takes. So the judge knows which samples went through
// which device, and when, and whoever does not wait for a pass cannot compute it.
#pragma once

#include <algorithm>

#include "engine/autograd/operations.hpp"
#include "engine/base/dtype.hpp"
#include "engine/tensor/ops.hpp"
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
  std::vector<std::int64_t> sample_shape;  // of the inputs of one sample; widths.front() of them
  std::vector<std::int64_t> batches;       // samples, by step
  std::vector<double> inputs;              // of all steps: [samples · widths.front()]
  std::vector<std::int64_t> labels;        // [samples]
  Breaks breaks = Breaks::nothing;         // what one of the devices does in the last step
  std::int64_t broken = 0;                 // which
  std::uint8_t keeps = 0;                  // the master's gradients of a step stay for the next
  std::uint64_t secret = 0;                // of the judge, which draws noise and factors; not sent

  std::int64_t chunk(std::int64_t batch) const { return (batch + devices - 1) / devices; }
  // Devices that have samples of such a batch.
  std::int64_t used(std::int64_t batch) const { return (batch + chunk(batch) - 1) / chunk(batch); }
  // The samples of device d.
  std::int64_t samples(std::int64_t batch, std::int64_t d) const {
    return std::clamp<std::int64_t>(batch - d * chunk(batch), 0, chunk(batch));
  }
};

// A request of the devices to the judge.
struct DeviceCall {
  static constexpr const char* service = "devices";
  enum class Kind : std::uint8_t {
    step,     // a step begins
    copy,     // `tensors.front()` goes from device `from` to `device`
    forward,  // `device` computes; tensors: the inputs of its samples, and then its parameters
    backward  // `device` goes back over the forward pass of this number
  };
  Kind kind = Kind::step;
  std::uint64_t model_seed = 0;  // says which question it is
  std::uint32_t step = 0;
  int from = 0, device = 0;
  std::uint64_t pass = 0;
  std::vector<Bytes> tensors{};
};
struct DeviceAnswer {
  std::uint64_t pass = 0;         // forward: its number
  std::vector<double> numbers{};  // forward: the noise; backward: the factors
};

// The adapter's report of one step.
struct ThreadsStep {
  double loss = 0;
  std::vector<Bytes> gradients;  // the master's, in the order of its parameters
  std::int64_t left = 0;         // gradients that other replicas have afterwards; advice
};
struct ThreadsAnswer {
  std::vector<ThreadsStep> steps;
  Ending last;  // how the last call ended
};

template <typename Archive>
void fields(Archive& archive, ThreadsQuestion& q) {
  archive(q.devices, q.dtype, q.model_seed, q.widths, q.sample_shape, q.batches, q.inputs, q.labels,
          q.breaks, q.broken, q.keeps);
}
template <typename Archive>
void fields(Archive& archive, DeviceCall& call) {
  archive(call.kind, call.model_seed, call.step, call.from, call.device, call.pass, call.tensors);
}
inline void check_fields(DeviceCall& call) {
  if (call.kind > DeviceCall::Kind::backward) throw MalformedMessage("no such call of a device");
}
template <typename Archive>
void fields(Archive& archive, DeviceAnswer& answer) {
  archive(answer.pass, answer.numbers);
}
template <typename Archive>
void fields(Archive& archive, ThreadsStep& step) {
  archive(step.loss, step.gradients, step.left);
}
template <typename Archive>
void fields(Archive& archive, ThreadsAnswer& answer) {
  archive(answer.steps, answer.last);
}

// The inputs [samples, …] of a model, flat and with the noise of their samples.
inline Value with_noise(Tape& tape, const Value& inputs, const std::vector<double>& noise) {
  const std::int64_t samples = inputs.tensor.size(0);
  const std::int64_t width = inputs.tensor.numel() / std::max<std::int64_t>(samples, 1);
  const Tensor added =
      from_values(noise, {samples, width}, inputs.tensor.dtype(), inputs.tensor.device());
  return autograd::add(tape, autograd::view(tape, inputs, {samples, width}), tape.constant(added));
}

// The outputs as they are; their gradient is multiplied by what factors() returns.
template <typename Factors>
Value with_factors(Tape& tape, const Value& outputs, const Factors& factors) {
  if (tape.mode() == GradMode::inference) return outputs;
  const Shape shape = outputs.tensor.shape();
  return tape.record(outputs.tensor, {outputs}, [factors, shape](const Tensor& grad) {
    const Tensor times = from_values(factors(), shape, grad.dtype(), grad.device());
    return std::vector<Tensor>{ops::multiply(grad, times)};
  });
}

}  // namespace lockstep::grader
