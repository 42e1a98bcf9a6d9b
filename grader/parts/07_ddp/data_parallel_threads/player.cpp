// Plays data_parallel_threads on devices whose copies and passes are requests to the judge: it
// counts what is copied, and passes take the time that it says.
#include "engine/parallel/ddp/data_parallel_threads.hpp"

#include <deque>

#include "grader/parts/07_ddp/data_parallel_threads/case.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/function_play.hpp"
#include "grader/play/poison_device.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {
namespace {

using Breaks = ThreadsQuestion::Breaks;

// The exception of a device that breaks.
struct DeviceError : Error {
  using Error::Error;
};

Bytes bytes_in(const Tensor& tensor) {
  const auto bytes = tensor.raw_bytes();
  return {bytes.begin(), bytes.end()};
}

class JudgedDevices final : public ddp::LocalDevices {
 public:
  JudgedDevices(const ThreadsQuestion& q, sim::Port& port)
      : q_(q), port_(port), devices_(static_cast<std::size_t>(q.devices)) {}

  int size() const override { return static_cast<int>(devices_.size()); }
  Tensor copy_to(const Tensor& tensor, int to) override {
    Device& there = devices_.at(static_cast<std::size_t>(to));
    ask_judge({.kind = DeviceCall::Kind::copy,
               .from = number_of_device(tensor.device()),
               .device = to,
               .tensors = {bytes_in(tensor)}});
    const Tensor copy = empty(tensor.shape(), tensor.dtype(), there, tensor.kind());
    copy.copy_(tensor);
    return copy;
  }

  DeviceAnswer ask_judge(DeviceCall call) {
    call.model_seed = q_.model_seed;
    call.step = step;
    return ask<DeviceAnswer>(port_, call);
  }
  PoisonDevice& device(std::size_t d) { return devices_[d]; }
  void require_intact() {
    for (PoisonDevice& device : devices_) device.require_intact();
  }

  std::uint32_t step = 0;

 private:
  // -1: none of these.
  int number_of_device(const Device& device) const {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (&devices_[d] == &device) return static_cast<int>(d);
    }
    return -1;
  }

  const ThreadsQuestion& q_;
  sim::Port& port_;
  std::deque<PoisonDevice> devices_;
};

class JudgedReplica final : public nn::Module {
 public:
  JudgedReplica(std::unique_ptr<nn::Module> model, JudgedDevices& devices, int number)
      : model_(std::move(model)), devices_(devices), number_(number) {}

  Value forward(Tape& tape, const Value& input) override {
    DeviceCall call{.kind = DeviceCall::Kind::forward, .device = number_};
    call.tensors.push_back(bytes_in(input.tensor));
    for (const Parameter* parameter : parameters())
      call.tensors.push_back(bytes_in(parameter->value));
    const DeviceAnswer given = devices_.ask_judge(std::move(call));
    if (breaks == Breaks::forward) throw DeviceError("the device is broken");
    const Value outputs = model_->forward(tape, with_noise(tape, input, given.numbers));
    return with_factors(tape, outputs, [this, pass = given.pass] { return go_back(pass); });
  }
  std::vector<Parameter*> parameters() override { return model_->parameters(); }

  Breaks breaks = Breaks::nothing;

 private:
  std::vector<double> go_back(std::uint64_t pass) const {
    auto given =
        devices_.ask_judge({.kind = DeviceCall::Kind::backward, .device = number_, .pass = pass});
    if (breaks == Breaks::backward) throw DeviceError("the device is broken");
    return std::move(given.numbers);
  }

  std::unique_ptr<nn::Module> model_;
  JudgedDevices& devices_;
  int number_;
};

class Process {
 public:
  Process(const ThreadsQuestion& q, sim::PlayerCase& played)
      : q_(q), played_(played), devices_(q, played.port) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(q.devices); ++d) {
      replicas_.emplace_back(nn::make_mlp(q.widths, q.dtype, devices_.device(d), q.model_seed + d),
                             devices_, static_cast<int>(d));
      modules_.push_back(&replicas_.back());
    }
    optimizer_ = optim::make_sgd(replicas_[0].parameters(), {.learning_rate = 0.1});
  }

  ThreadsAnswer answer() {
    ThreadsAnswer answer;
    std::int64_t first = 0;
    for (std::size_t k = 0; k < q_.batches.size(); ++k) {
      if (k + 1 == q_.batches.size()) {
        replicas_[static_cast<std::size_t>(q_.broken)].breaks = q_.breaks;
      }
      devices_.step = static_cast<std::uint32_t>(k);
      ThreadsStep& step = answer.steps.emplace_back();
      answer.last = ending_of<DeviceError>([&] { take(step, first, q_.batches[k]); });
      first += q_.batches[k];
      if (answer.last.kind != Ending::Kind::returned) break;
    }
    return answer;
  }

 private:
  void take(ThreadsStep& step, std::int64_t first, std::int64_t samples) {
    data::Batch batch = make_batch(q_.inputs, q_.labels, q_.widths.front(), first, samples,
                                   q_.dtype, devices_.device(0));
    Shape shape{samples};
    for (const std::int64_t size : q_.sample_shape) shape.push_back(size);
    batch.inputs = batch.inputs.view(shape);
    if (q_.keeps == 0) optimizer_->zero_grad();
    devices_.ask_judge({.kind = DeviceCall::Kind::step});
    step.loss = ddp::data_parallel_threads(modules_, devices_, played_.strands, batch);
    devices_.require_intact();
    for (JudgedReplica& replica : replicas_) {
      for (const Parameter* parameter : replica.parameters()) {
        if (&replica != &replicas_[0] && parameter->grad.defined()) ++step.left;
      }
    }
    for (const Parameter* parameter : replicas_[0].parameters()) {
      step.gradients.push_back(parameter->grad.defined() ? bytes_in(parameter->grad) : Bytes{});
    }
    optimizer_->step();
  }

  const ThreadsQuestion& q_;
  sim::PlayerCase& played_;
  JudgedDevices devices_;
  std::deque<JudgedReplica> replicas_;
  std::vector<nn::Module*> modules_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return answer_each<ThreadsQuestion>(
      played, [&](const ThreadsQuestion& question) { return Process(question, played).answer(); });
}

}  // namespace lockstep::grader
