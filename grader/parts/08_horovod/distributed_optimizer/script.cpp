#include "grader/parts/08_horovod/distributed_optimizer/script.hpp"

#include <cmath>
#include <numeric>

#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::distributed_optimizer {
namespace {

using Begins = TrainingStep::Begins;
using Ends = TrainingStep::Ends;
using Tries = TrainingStep::Tries;

// In the place of a pass: the one with which a step begins.
constexpr int first_of_all = 32;

std::uint64_t salt_of(std::uint64_t salt, std::size_t step, int pass) {
  return keyed_bits(salt, 64 * step + static_cast<std::uint64_t>(pass));
}

std::vector<std::int64_t> order_of(const Training& training, std::uint64_t salt, std::size_t step,
                                   int rank) {
  const auto count = std::ssize(training.sizes);
  if (training.order == Training::Order::of_each_rank) {
    return keyed_order(count, keyed_bits(salt, 1'000 + step) + static_cast<std::uint64_t>(rank));
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  return order;
}

class Writer {
 public:
  Writer(const Training& training, std::uint64_t salt, int rank)
      : training_(training), salt_(salt), rank_(rank) {}

  std::vector<TrainingEvent> written() {
    for (step_ = 0; step_ < training_.steps.size(); ++step_) write_step(training_.steps[step_]);
    put({.kind = Kind::end});
    put({.kind = Kind::done});
    return std::move(events_);
  }

 private:
  void write_step(const TrainingStep& step) {
    const auto order = order_of(training_, salt_, step_, rank_);
    if (step.begins != Begins::as_left) put({.kind = Kind::zero_grad});
    if (step.begins == Begins::synchronized) {
      pass_ = first_of_all;
      for (const std::int64_t i : order) put_gradient(i);
      put({.kind = Kind::synchronize});
    }
    for (pass_ = 0; pass_ < step.passes; ++pass_) {
      for (const std::int64_t i : order) {
        if (makes_gradient(step, static_cast<std::size_t>(i), rank_)) put_gradient(i);
      }
      const bool at_either_end = pass_ == 0 || pass_ + 1 == step.passes;
      if (step.tries == Tries::zero_grad && at_either_end) put({.kind = Kind::early_zero_grad});
    }
    if (step.tries == Tries::extra_gradient) {
      put({.kind = Kind::extra_gradient, .parameter = static_cast<std::uint32_t>(order.front())});
    }
    if (step.tries == Tries::skipped_step) put({.kind = Kind::early_skipped_step});
    if (step.ends == Ends::step) return put({.kind = Kind::step});
    if (step.ends == Ends::under_guard) return put({.kind = Kind::skipped_step});
    put({.kind = Kind::synchronize});
    if (step.tries == Tries::synchronize_again) put({.kind = Kind::second_synchronize});
    if (step.tries == Tries::step_again) put({.kind = Kind::second_step});
    put({.kind = Kind::scale, .factor = clipped_by});
    put({.kind = step.ends == Ends::two_guards   ? Kind::step_under_two
                 : step.ends == Ends::one_of_two ? Kind::step_under_the_outer
                                                 : Kind::skipped_step});
  }

  void put_gradient(std::int64_t parameter) {
    const auto i = static_cast<std::size_t>(parameter);
    OptimizerEvent event{.kind = Kind::gradient, .parameter = static_cast<std::uint32_t>(i)};
    event.values =
        to_bytes(training_.dtype, drawn_gradient(training_.plan(), salt_of(salt_, step_, pass_),
                                                 rank_, i, training_.size_of_gradients));
    put(std::move(event));
  }

  void put(OptimizerEvent event) {
    const auto place = static_cast<std::uint64_t>(rank_) * 4096 + events_.size();
    const double takes_s = event.kind == Kind::gradient
                               ? training_.gap_s * (0.5 + keyed_uniform(salt_ ^ 0x4072, place))
                               : 0;
    events_.push_back({std::move(event), takes_s, step_, pass_});
  }

  const Training& training_;
  std::uint64_t salt_;
  int rank_;
  std::size_t step_ = 0;
  int pass_ = 0;
  std::vector<TrainingEvent> events_;
};

}  // namespace

GradientPlan Training::plan() const {
  return {dtype, sizes, std::vector<std::uint8_t>(sizes.size(), 1), held};
}

void Training::ask_of(std::uint64_t salt, int rank, Situations& asked) const {
  grader::ask_of(drawn_gradients(plan(), salt_of(salt, 0, 0), rank), asked);
  if (steps.size() > 1) asked.insert(Situation::same_call_twice);
}

TrainingService::TrainingService(const Training& training, const Members& members,
                                 std::uint64_t salt)
    : members_(members), notes_(static_cast<std::size_t>(members.size())) {
  for (int rank = 0; rank < members.size(); ++rank) {
    by_rank_.push_back(Writer(training, salt, rank).written());
  }
}

std::optional<sim::Service::Answer> TrainingService::answer(const sim::Actor& who, OptimizerCall,
                                                            double now) {
  const auto rank = static_cast<std::size_t>(members_.group_rank(who.rank));
  if (rank >= by_rank_.size()) throw Error(text("rank ", who.rank, " does not train"));
  auto& notes = notes_[rank];
  if (notes.size() == by_rank_[rank].size()) {
    throw Error(text("rank ", who.rank, " asks for an event after the last one"));
  }
  const TrainingEvent& next = by_rank_[rank][notes.size()];
  notes.push_back({next, now, now + next.takes_s, notes.size()});
  return answer_with(next.event, now + next.takes_s);
}

std::vector<TrainingService::Note> TrainingService::notes_of_step(int rank,
                                                                  std::size_t step) const {
  std::vector<Note> of_step;
  for (const Note& note : notes(rank)) {
    if (note.scripted.step == step) of_step.push_back(note);
  }
  return of_step;
}

double TrainingService::next_asked_s(int rank, const Note& note) const {
  const auto& all = notes(rank);
  return note.place + 1 < all.size() ? all[note.place + 1].asked_s : note.given_s;
}

void TrainingService::require_all() const {
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
    if (notes_[rank].size() == by_rank_[rank].size()) continue;
    throw MalformedMessage(text("rank ", rank, " asked for ", notes_[rank].size(), " of ",
                                by_rank_[rank].size(), " events"));
  }
}

bool makes_gradient(const TrainingStep& step, std::size_t i, int rank) {
  if (step.makes == TrainingStep::Makes::all) return true;
  return !((i % 3 == 0 && rank % 2 == 0) || i == 1);
}

namespace {

using ByRank = std::vector<std::vector<double>>;

// The grads with which a rank comes to the passes of a step, the same on every rank, and how far
// they may be off.
struct Start {
  std::vector<double> values, tolerance;
};

// Adds the ranks' `own` times `factor`. Each of some K-1 + N-1 additions in any order, and each of
// four factors, rounds once.
void add_reduced(Start& to, const ByRank& own, double factor, double roundings) {
  for (const auto& one : own) {
    for (std::size_t e = 0; e < one.size(); ++e) {
      to.values[e] += factor * one[e];
      to.tolerance[e] += roundings * factor * std::fabs(one[e]);
    }
  }
}

Start start_of(const Training& training, std::uint64_t salt, std::size_t s, std::size_t i,
               int ranks, const StepGradient* before) {
  const auto size = static_cast<std::size_t>(training.sizes[i]);
  Start start{std::vector<double>(size), std::vector<double>(size)};
  const Begins begins = training.steps[s].begins;
  if (begins == Begins::as_left && before != nullptr) return {before->values, before->tolerance};
  if (begins != Begins::synchronized) return start;
  ByRank made;
  for (int rank = 0; rank < ranks; ++rank) {
    made.push_back(drawn_gradient(training.plan(), salt_of(salt, s, first_of_all), rank, i,
                                  training.size_of_gradients));
  }
  add_reduced(start, made, training.weight(ranks), (ranks + 4) * epsilon_of(training.dtype));
  return start;
}

StepGradient right_gradient(const Training& training, std::uint64_t salt, std::size_t s,
                            std::size_t i, int ranks, const StepGradient* before) {
  const TrainingStep& step = training.steps[s];
  const Start start = start_of(training, salt, s, i, ranks, before);
  StepGradient right;
  right.summed.assign(static_cast<std::size_t>(ranks), start.values);
  const double factor = training.weight(ranks) * (step.is_clipped() ? clipped_by : 1);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (int pass = 0; pass < step.passes && makes_gradient(step, i, rank); ++pass) {
      auto made = drawn_gradient(training.plan(), salt_of(salt, s, pass), rank, i,
                                 training.size_of_gradients);
      for (std::size_t e = 0; e < made.size(); ++e) right.summed[r][e] += made[e];
      right.terms.push_back({text("pass ", pass + 1, " of rank ", rank), factor, std::move(made)});
    }
  }
  if (step.ends == Ends::under_guard) {  // nothing is reduced
    right.values = start.values;
    right.tolerance = start.tolerance;
    return right;
  }
  right.terms.push_back({"the grad from before", factor * ranks, start.values});
  if (before != nullptr && step.begins != Begins::as_left) {
    right.terms.push_back({"that of the step before", 0, before->values});
  }
  Start reduced{std::vector<double>(start.values.size()), std::vector<double>(start.values.size())};
  add_reduced(reduced, right.summed, factor,
              (ranks + step.passes + 4) * epsilon_of(training.dtype));
  for (std::size_t e = 0; e < start.values.size(); ++e) {
    reduced.tolerance[e] += factor * ranks * start.tolerance[e];
  }
  right.values = std::move(reduced.values);
  right.tolerance = std::move(reduced.tolerance);
  return right;
}

}  // namespace

std::vector<std::vector<StepGradient>> right_gradients(const Training& training, std::uint64_t salt,
                                                       int ranks) {
  std::vector<std::vector<StepGradient>> steps;
  for (std::size_t s = 0; s < training.steps.size(); ++s) {
    std::vector<StepGradient> gradients;
    for (std::size_t i = 0; i < training.sizes.size(); ++i) {
      const StepGradient* before = s > 0 ? &steps.back()[i] : nullptr;
      gradients.push_back(right_gradient(training, salt, s, i, ranks, before));
    }
    steps.push_back(std::move(gradients));
  }
  return steps;
}

}  // namespace lockstep::grader::distributed_optimizer
