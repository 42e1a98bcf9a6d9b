// The run that players save and load (play/saved_state.hpp), as the judge computes it: what every
// element is after so many steps, however often the run was interrupted.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/play/saved_state.hpp"

namespace lockstep::grader {

// Gives the number of a step to a rank that takes it, when the step is over.
class StepService final : public TypedService<StepCall> {
 public:
  static constexpr double step_s = 1;

  explicit StepService(std::uint64_t salt) : salt_(salt) {}
  std::uint64_t number(std::int64_t step) const {
    return keyed_bits(salt_, static_cast<std::uint64_t>(step));
  }
  // Called with the number of steps that were asked for before, while the rank stands still.
  void watch(std::function<void(std::size_t before)> watcher) { watcher_ = std::move(watcher); }
  const std::vector<double>& asked_s() const { return asked_s_; }

 private:
  std::optional<Answer> answer(const sim::Actor&, StepCall call, double now) override {
    if (watcher_) watcher_(asked_s_.size());
    asked_s_.push_back(now);
    return answer_with(StepAnswer{number(call.step)}, now + step_s);
  }

  std::uint64_t salt_;
  std::function<void(std::size_t)> watcher_{};
  std::vector<double> asked_s_;
};

struct PaperTensor {
  checkpoint::PieceKind kind;
  std::string name;
  Shape shape;
};

// The boxes that a rank of so many holds of a tensor.
using BoxCut = std::function<Boxes(const Shape& shape, int rank, int ranks)>;
inline Boxes everything(const Shape& shape, int, int) { return whole_of(shape); }

// A rank, as far as it holds the run.
struct Holder {
  BoxCut cut = everything;
  int rank = 0, ranks = 1;
  Boxes of(const Shape& shape) const { return cut(shape, rank, ranks); }
};

class PaperRun {
 public:
  PaperRun(std::vector<PaperTensor> tensors, checkpoint::TrainState first, std::uint64_t salt)
      : tensors_(std::move(tensors)), first_(std::move(first)), salt_(salt), steps_(~salt) {}

  const std::vector<PaperTensor>& tensors() const { return tensors_; }
  StepService service() const { return steps_; }

  checkpoint::TrainState state(std::int64_t steps) const {
    checkpoint::TrainState state = first_;
    for (std::int64_t step = 0; step < steps; ++step) advance(state);
    return state;
  }
  std::vector<double> values(std::size_t tensor, std::int64_t steps, const Holder& who = {}) const {
    const Shape& shape = tensors_[tensor].shape;
    std::vector<double> all;
    for (const std::int64_t number : numbers_of(shape, who.of(shape))) {
      all.push_back(value(tensor, steps, static_cast<std::uint64_t>(number)));
    }
    return all;
  }
  double value(std::size_t tensor, std::int64_t steps, std::uint64_t element) const {
    double sum = added(salt_, tensor, element);
    for (std::int64_t step = 0; step < steps; ++step) {
      sum += added(steps_.number(first_.step + step), tensor, element);
    }
    return sum;
  }

  // The tensors with what they hold at first, or for a life that has to load them.
  enum class Gives : std::uint8_t { values, names };
  std::vector<RunTensor> held(Gives gives, const Holder& who = {}) const {
    std::vector<RunTensor> all;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const PaperTensor& one = tensors_[i];
      all.push_back(
          {one.kind, one.name, one.shape, who.of(one.shape),
           gives == Gives::values ? to_bytes(DType::float64, values(i, 0, who)) : Bytes{}});
    }
    return all;
  }
  const PaperTensor* find(const std::string& name) const {
    const auto found = std::ranges::find(tensors_, name, &PaperTensor::name);
    return found == tensors_.end() ? nullptr : &*found;
  }

 private:
  std::vector<PaperTensor> tensors_;
  checkpoint::TrainState first_;
  std::uint64_t salt_;
  StepService steps_;
};

inline std::string told(const checkpoint::TrainState& state) {
  const auto& scaler = state.loss_scaler;
  return text("step ", state.step, ", epoch ", state.epoch, ", ", state.taken, " places taken, ",
              "seed ", state.seed, ", ",
              scaler ? text("loss scale ", number(scaler->scale), " since ", scaler->clean_updates,
                            " updates")
                     : std::string("no loss scale"),
              ", ", counted(std::ssize(state.notes), "note"));
}

// The first difference between a rank's report and the run after `steps` steps, as a failure;
// nothing when there is none.
inline std::optional<Failure> difference(const PaperRun& run, std::int64_t steps,
                                         const LifeReport& report, const Holder& who = {}) {
  if (report.values.size() != run.tensors().size()) {
    throw MalformedMessage("a rank reported other tensors than it was given");
  }
  const checkpoint::TrainState right = run.state(steps);
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    const PaperTensor& tensor = run.tensors()[i];
    const auto expected = run.values(i, steps, who);
    const auto seen = as_doubles(DType::float64, report.values[i]);
    if (seen.size() != expected.size()) throw MalformedMessage("a rank reported another size");
    const auto at = first_other_bits(seen, expected);
    if (!at) continue;
    const std::string was = number_at(expected, *at), is = number_at(seen, *at);
    const auto element = numbers_of(tensor.shape, who.of(tensor.shape))[*at];
    return Failure{.message = text("element ", element, " of ", tensor.name, " is ", is,
                                   "; after step ", right.step, " it should be ", was),
                   .expected = was,
                   .seen = is};
  }
  if (report.state == right) return std::nullopt;
  return Failure{
      .message = text("the run is at ", told(report.state), "; it should be at ", told(right)),
      .expected = told(right),
      .seen = told(report.state)};
}

// Acts as letters: t a step, s a save, l a load, S a save and a step at once, w a wait.
inline std::vector<LifeAct> acts_of(std::string_view letters) {
  static const std::map<char, LifeAct> named{{'t', LifeAct::step},
                                             {'s', LifeAct::save},
                                             {'l', LifeAct::load},
                                             {'S', LifeAct::save_and_step},
                                             {'w', LifeAct::wait}};
  std::vector<LifeAct> all;
  for (const char letter : letters) all.push_back(named.at(letter));
  return all;
}

}  // namespace lockstep::grader
