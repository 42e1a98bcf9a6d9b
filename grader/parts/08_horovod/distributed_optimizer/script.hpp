// The training steps that an optimizer is taken through: which gradients come on each rank, in
// which order and how long each takes, all of it drawn from a salt; the service that plays them
// out; and what is right after each step.
#pragma once

#include <vector>

#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/judge/wrong_terms.hpp"
#include "grader/parts/08_horovod/distributed_optimizer/case.hpp"

namespace lockstep::grader::distributed_optimizer {

using Kind = OptimizerEvent::Kind;

struct TrainingStep {
  int passes = 1;
  // cleared: with zero_grad(). synchronized: with zero_grad(), a backward pass of every gradient,
  // and synchronize(); its grads stay, and the passes add to them. as_left: with the grads of the
  // step before, to which the passes add.
  enum class Begins : std::uint8_t { cleared, synchronized, as_left } begins = Begins::cleared;
  // some_absent: every third parameter gets no gradient on the even ranks, the second one on none.
  enum class Makes : std::uint8_t { all, some_absent } makes = Makes::all;
  // clipped: synchronize, every grad times clipped_by, and step under skip_synchronize.
  // under_guard: step under skip_synchronize, without synchronize. two_guards: as clipped, under
  // two of them; one_of_two: the same when the inner one has ended.
  enum class Ends : std::uint8_t {
    step,
    clipped,
    under_guard,
    two_guards,
    one_of_two
  } ends = Ends::step;
  bool is_clipped() const {
    return ends == Ends::clipped || ends == Ends::two_guards || ends == Ends::one_of_two;
  }
  // A call that is tried on the way, and must be refused.
  enum class Tries : std::uint8_t {
    nothing,
    extra_gradient,
    zero_grad,          // after the first pass, and after the last
    skipped_step,       // before the gradients are reduced
    synchronize_again,  // needs a clipped end
    step_again,         // needs a clipped end
  } tries = Tries::nothing;
};
constexpr double clipped_by = 0.5;

struct Training {
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::vector<TrainingStep> steps;
  // The order of the parameters in the wrapped optimizers: odd ranks may have them in reverse.
  enum class Lists : std::uint8_t { alike, reversed_on_odd_ranks } lists = Lists::alike;
  WrappedRule rule = WrappedRule::momentum;
  horovod::Combine combine = horovod::Combine::average;
  double predivide_factor = 1;
  int passes_per_step = 1;  // K
  std::int64_t threshold_bytes = 1 << 20;
  double cycle_s = 0;
  Held held = Held::usual;
  double gap_s = 20e-6;          // what a gradient takes, on average
  double size_of_gradients = 1;  // they are between 0.5 and 1.5 times (rank + 1) times this
  enum class Order : std::uint8_t { last_first, of_each_rank } order = Order::of_each_rank;

  GradientPlan plan() const;
  // The situations into which the gradients put a part.
  void ask_of(std::uint64_t salt, int rank, Situations& asked) const;
  // The factor on the sum over the ranks and passes.
  double weight(int ranks) const { return combine == horovod::Combine::sum ? 1 : 1.0 / ranks; }
};

struct TrainingEvent {
  OptimizerEvent event;
  double takes_s = 0;  // until the event comes, since it was asked for
  std::size_t step = 0;
  int pass = 0;
};

// Plays the events of the group's ranks, and notes when they were asked for and given.
class TrainingService final : public TypedService<OptimizerCall> {
 public:
  TrainingService(const Training& training, const Members& members, std::uint64_t salt);

  struct Note {
    TrainingEvent scripted;
    double asked_s = 0, given_s = 0;
    std::size_t place = 0;  // among the rank's notes
  };
  const std::vector<Note>& notes(int rank) const { return notes_[static_cast<std::size_t>(rank)]; }
  // The notes of a rank in a step.
  std::vector<Note> notes_of_step(int rank, std::size_t step) const;
  // When the event after that one was asked for.
  double next_asked_s(int rank, const Note& note) const;
  //   Throws  MalformedMessage when a rank did not ask for all of its events
  void require_all() const;

 private:
  std::optional<Answer> answer(const sim::Actor& who, OptimizerCall call, double now) override;

  Members members_;
  std::vector<std::vector<TrainingEvent>> by_rank_;
  std::vector<std::vector<Note>> notes_;
};

// A parameter's gradient in one step.
struct StepGradient {
  std::vector<std::vector<double>> summed;  // by rank, over its passes, before it is reduced
  std::vector<Term> terms;                  // of which the values are made
  std::vector<double> values, tolerance;    // after the step, on every rank
};
// True if a rank makes this gradient in the passes of this step.
bool makes_gradient(const TrainingStep& step, std::size_t i, int rank);
// By step and parameter.
std::vector<std::vector<StepGradient>> right_gradients(const Training& training, std::uint64_t salt,
                                                       int ranks);

}  // namespace lockstep::grader::distributed_optimizer
