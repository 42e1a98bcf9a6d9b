// Plays data_parallel_threads on devices that count what is copied, with replicas whose passes take
// virtual time: when each of them ran shows whether the devices computed at once or in turn.
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

class CountedDevices final : public ddp::LocalDevices {
 public:
  explicit CountedDevices(std::int64_t count) : devices_(static_cast<std::size_t>(count)) {}

  int size() const override { return static_cast<int>(devices_.size()); }
  Tensor copy_to(const Tensor& tensor, int to) override {
    const auto bytes = static_cast<std::int64_t>(tensor.bytes());
    const bool from_first = &tensor.device() == &devices_[0];
    if (from_first && to != 0) {
      from_0 += bytes;
    } else if (to == 0 && !from_first) {
      to_0 += bytes;
    } else {
      others += bytes;
    }
    const Tensor copy = empty(tensor.shape(), tensor.dtype(),
                              devices_.at(static_cast<std::size_t>(to)), tensor.kind());
    copy.copy_(tensor);
    return copy;
  }
  Device& device(std::size_t d) { return devices_[d]; }

  std::int64_t from_0 = 0, to_0 = 0, others = 0;

 private:
  std::deque<PoisonDevice> devices_;
};

class TimedReplica final : public nn::Module {
 public:
  TimedReplica(std::unique_ptr<nn::Module> model, sim::Port& port)
      : model_(std::move(model)), port_(port) {}

  Value forward(Tape& tape, const Value& input) override {
    samples += input.tensor.size(0);
    if (&input.tensor.device() != &parameters().front()->value.device()) ++away;
    forward_span = compute();
    if (breaks == Breaks::forward) throw DeviceError("the device is broken");
    tape.watch({[this](std::span<Parameter* const>) {
                  backward_span = compute();
                  if (breaks == Breaks::backward) throw DeviceError("the device is broken");
                },
                [] {}});
    return model_->forward(tape, input);
  }
  std::vector<Parameter*> parameters() override { return model_->parameters(); }

  // Strands of a player take turns, so no two count at once.
  std::int64_t samples = 0, away = 0;
  PassSpan forward_span{}, backward_span{};
  Breaks breaks = Breaks::nothing;

 private:
  // The time of a pass, as the judge's clock has it: other strands go on meanwhile.
  PassSpan compute() {
    const double from_s = pass_time(port_, 0);
    return {from_s, pass_time(port_, 20e-6)};
  }

  std::unique_ptr<nn::Module> model_;
  sim::Port& port_;
};

class Process {
 public:
  Process(const ThreadsQuestion& q, sim::PlayerCase& played)
      : q_(q), played_(played), devices_(q.devices) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(q.devices); ++d) {
      replicas_.emplace_back(nn::make_mlp(q.widths, q.dtype, devices_.device(d), q.model_seed + d),
                             played.port);
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
      ThreadsStep& step = answer.steps.emplace_back();
      answer.last = ending_of<DeviceError>([&] { take(step, first, q_.batches[k]); });
      first += q_.batches[k];
      if (answer.last.kind != Ending::Kind::returned) break;
    }
    return answer;
  }

 private:
  void take(ThreadsStep& step, std::int64_t first, std::int64_t samples) {
    const data::Batch batch = make_batch(q_.inputs, q_.labels, q_.widths.front(), first, samples,
                                         q_.dtype, devices_.device(0));
    if (q_.keeps == 0) optimizer_->zero_grad();
    devices_.from_0 = devices_.to_0 = devices_.others = 0;
    const double begin_s = pass_time(played_.port, 0);
    for (TimedReplica& replica : replicas_) {
      replica.samples = replica.away = 0;
      replica.forward_span = replica.backward_span = {begin_s, begin_s};
    }
    step.loss = ddp::data_parallel_threads(modules_, devices_, played_.strands, batch);
    step.from_0 = devices_.from_0;
    step.to_0 = devices_.to_0;
    step.others = devices_.others;
    const auto since_begin = [&](const PassSpan& span) {
      return PassSpan{span.from_s - begin_s, span.to_s - begin_s};
    };
    for (TimedReplica& replica : replicas_) {
      step.forwards.push_back(since_begin(replica.forward_span));
      step.backwards.push_back(since_begin(replica.backward_span));
      step.forwarded.push_back(replica.samples);
      step.away += replica.away;
      for (const Parameter* parameter : replica.parameters()) {
        if (&replica != &replicas_[0] && parameter->grad.defined()) ++step.left;
      }
    }
    for (const Parameter* parameter : replicas_[0].parameters()) {
      Bytes& bytes = step.gradients.emplace_back();
      if (!parameter->grad.defined()) continue;
      const auto elements = parameter->grad.raw_bytes();
      bytes.assign(elements.begin(), elements.end());
    }
    optimizer_->step();
  }

  const ThreadsQuestion& q_;
  sim::PlayerCase& played_;
  CountedDevices devices_;
  std::deque<TimedReplica> replicas_;
  std::vector<nn::Module*> modules_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return answer_each<ThreadsQuestion>(
      played, [&](const ThreadsQuestion& question) { return Process(question, played).answer(); });
}

}  // namespace lockstep::grader
