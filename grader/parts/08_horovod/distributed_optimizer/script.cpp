#include "grader/parts/08_horovod/distributed_optimizer/script.hpp"

#include <cmath>
#include <numeric>

#include "engine/base/random.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::distributed_optimizer {
namespace {

using Tries = TrainingStep::Tries;

std::uint64_t salt_of(std::uint64_t salt, std::size_t step, int pass) {
  return random_bits(salt, 64 * step + static_cast<std::uint64_t>(pass));
}

bool makes_gradient(const TrainingStep& step, std::size_t i, int rank) {
  if (step.makes == TrainingStep::Makes::all) return true;
  return !((i % 3 == 0 && rank % 2 == 0) || i == 1);
}

std::vector<std::int64_t> order_of(const Training& training, std::uint64_t salt, std::size_t step,
                                   int rank) {
  const auto count = std::ssize(training.sizes);
  if (training.order == Training::Order::of_each_rank) {
    return random_permutation(count,
                              random_bits(salt, 1'000 + step) + static_cast<std::uint64_t>(rank));
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
    put({.kind = Kind::zero_grad});
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
    if (step.ends == TrainingStep::Ends::step) return put({.kind = Kind::step});
    put({.kind = Kind::synchronize});
    if (step.tries == Tries::synchronize_again) put({.kind = Kind::second_synchronize});
    if (step.tries == Tries::step_again) put({.kind = Kind::second_step});
    put({.kind = Kind::scale, .factor = clipped_by});
    put({.kind = Kind::skipped_step});
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
                               ? training_.gap_s * (0.5 + random_uniform(salt_ ^ 0x4072, place))
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
  return {dtype, sizes, std::vector<std::uint8_t>(sizes.size(), 1)};
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

std::vector<std::vector<StepGradient>> right_gradients(const Training& training, std::uint64_t salt,
                                                       int ranks) {
  const GradientPlan plan = training.plan();
  const double weight = training.weight(ranks), epsilon = epsilon_of(training.dtype);
  std::vector<std::vector<StepGradient>> steps;
  for (std::size_t s = 0; s < training.steps.size(); ++s) {
    const TrainingStep& step = training.steps[s];
    const double clip = step.ends == TrainingStep::Ends::clipped ? clipped_by : 1;
    auto& gradients = steps.emplace_back(training.sizes.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      StepGradient& right = gradients[i];
      const std::vector<double> zeros(static_cast<std::size_t>(training.sizes[i]));
      right.summed.assign(static_cast<std::size_t>(ranks), zeros);
      right.first = right.last = right.summed;
      right.values = right.tolerance = zeros;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        for (int pass = 0; pass < step.passes; ++pass) {
          if (!makes_gradient(step, i, rank)) continue;
          right.last[r] =
              drawn_gradient(plan, salt_of(salt, s, pass), rank, i, training.size_of_gradients);
          if (pass == 0) right.first[r] = right.last[r];
          for (std::size_t e = 0; e < zeros.size(); ++e) {
            right.summed[r][e] += right.last[r][e];
            right.values[e] += clip * weight * right.last[r][e];
            // Each of the K-1 + N-1 additions in any order, and each of four factors, rounds once.
            right.tolerance[e] +=
                (ranks + step.passes + 4) * epsilon * clip * weight * std::fabs(right.last[r][e]);
          }
        }
      }
    }
  }
  return steps;
}

}  // namespace lockstep::grader::distributed_optimizer
