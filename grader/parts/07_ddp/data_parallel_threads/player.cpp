// Plays data_parallel_threads on devices that count what is copied, with replicas whose passes wait
// for each other: forward goes on when all devices are in it, and so does backward.
#include "engine/parallel/ddp/data_parallel_threads.hpp"

#include <deque>

#include "grader/parts/07_ddp/data_parallel_threads/case.hpp"
#include "grader/play/function_play.hpp"
#include "grader/play/poison_device.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {
namespace {

using Breaks = ThreadsQuestion::Breaks;

// What a device that breaks throws.
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

// Where strands meet: nobody leaves before `awaited` have come.
class Meeting {
 public:
  explicit Meeting(Strands& strands) : monitor_(strands.make_monitor()) {}

  void begin(std::int64_t awaited) {
    const std::scoped_lock inside(*monitor_);
    awaited_ = awaited;
    came_ = 0;
  }
  // One of those awaited will not come.
  void release() {
    const std::scoped_lock inside(*monitor_);
    awaited_ = 0;
    monitor_->notify_all();
  }
  void meet() {
    const std::scoped_lock inside(*monitor_);
    ++came_;
    monitor_->notify_all();
    monitor_->wait([&] { return came_ >= awaited_; });
  }

 private:
  std::unique_ptr<Monitor> monitor_;
  std::int64_t awaited_ = 0, came_ = 0;
};

class MeetingReplica final : public nn::Module {
 public:
  MeetingReplica(std::unique_ptr<nn::Module> model, Meeting& forwards, Meeting& backwards)
      : model_(std::move(model)), forwards_(forwards), backwards_(backwards) {}

  Value forward(Tape& tape, const Value& input) override {
    samples += input.tensor.size(0);
    if (&input.tensor.device() != &parameters().front()->value.device()) ++away;
    forwards_.meet();
    if (breaks == Breaks::forward) {
      backwards_.release();
      throw DeviceError("the device is broken");
    }
    tape.watch({[this](std::span<Parameter* const>) {
                  backwards_.meet();
                  if (breaks == Breaks::backward) throw DeviceError("the device is broken");
                },
                [] {}});
    return model_->forward(tape, input);
  }
  std::vector<Parameter*> parameters() override { return model_->parameters(); }

  // Strands of a player take turns, so no two count at once.
  std::int64_t samples = 0, away = 0;
  Breaks breaks = Breaks::nothing;

 private:
  std::unique_ptr<nn::Module> model_;
  Meeting &forwards_, &backwards_;
};

class Process {
 public:
  Process(const ThreadsQuestion& q, Strands& strands)
      : q_(q), strands_(strands), devices_(q.devices), forwards_(strands), backwards_(strands) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(q.devices); ++d) {
      replicas_.emplace_back(nn::make_mlp(q.widths, q.dtype, devices_.device(d), q.model_seed + d),
                             forwards_, backwards_);
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
    forwards_.begin(q_.used(samples));
    backwards_.begin(q_.used(samples));
    devices_.from_0 = devices_.to_0 = devices_.others = 0;
    for (MeetingReplica& replica : replicas_) replica.samples = replica.away = 0;
    step.loss = ddp::data_parallel_threads(modules_, devices_, strands_, batch);
    step.from_0 = devices_.from_0;
    step.to_0 = devices_.to_0;
    step.others = devices_.others;
    for (MeetingReplica& replica : replicas_) {
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
  Strands& strands_;
  CountedDevices devices_;
  Meeting forwards_, backwards_;
  std::deque<MeetingReplica> replicas_;
  std::vector<nn::Module*> modules_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return answer_each<ThreadsQuestion>(played, [&](const ThreadsQuestion& question) {
    return Process(question, played.strands).answer();
  });
}

}  // namespace lockstep::grader
