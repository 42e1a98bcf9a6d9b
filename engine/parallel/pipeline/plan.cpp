// Finds what is wrong with a plan, and says it in words.
#include "engine/parallel/pipeline/plan.hpp"

#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/progress.hpp"

namespace lockstep::pipeline {
namespace {

constexpr std::size_t kinds_of_pass = 4;

// The position of each pass in a stage's list; filled in the order of the list.
class PassPositions {
 public:
  explicit PassPositions(const Plan& plan)
      : micro_batches_(static_cast<std::size_t>(plan.micro_batches)),
        positions_(kinds_of_pass * static_cast<std::size_t>(plan.chunks) * micro_batches_) {}

  std::optional<std::size_t>& of(const Action& action) {
    const auto row = static_cast<std::size_t>(action.chunk) * kinds_of_pass +
                     static_cast<std::size_t>(action.pass);
    return positions_[row * micro_batches_ + static_cast<std::size_t>(action.micro_batch)];
  }
  bool has(Action like, Pass pass) {
    like.pass = pass;
    return of(like).has_value();
  }
  bool comes_before(Action like, Pass pass, std::size_t place) {
    like.pass = pass;
    const auto other = of(like);
    return other && *other < place;
  }

 private:
  std::size_t micro_batches_;
  std::vector<std::optional<std::size_t>> positions_;
};

// Finds the faults of one stage.
class StageCheck {
 public:
  StageCheck(const Plan& plan, int stage)
      : plan_(plan),
        stage_(stage),
        actions_(plan.actions[static_cast<std::size_t>(stage)]),
        positions_(plan) {}

  std::optional<PlanFault> fault() {
    if (auto found = unknown_or_doubled()) return found;
    if (auto found = missing()) return found;
    return too_early();
  }

 private:
  std::string words(const Action& action) const { return text_of(action, plan_.chunks); }
  std::string words(Action like, Pass pass) const {
    like.pass = pass;
    return words(like);
  }
  PlanFault fault_at(FaultKind kind, std::size_t place, const std::string& sentence) const {
    return {
        kind, stage_, actions_[place], place,
        text("stage ", stage_, ", action ", place, ", ", words(actions_[place]), ": ", sentence)};
  }

  bool exists(const Action& action) const {
    return static_cast<std::size_t>(action.pass) < kinds_of_pass && action.micro_batch >= 0 &&
           action.micro_batch < plan_.micro_batches && action.chunk >= 0 &&
           action.chunk < plan_.chunks;
  }

  std::optional<PlanFault> unknown_or_doubled() {
    for (std::size_t place = 0; place < actions_.size(); ++place) {
      const Action& action = actions_[place];
      if (!exists(action)) {
        return PlanFault{
            FaultKind::no_such_pass, stage_, action, place,
            text("stage ", stage_, ", action ", place, ": there is no pass of micro-batch ",
                 action.micro_batch, " over chunk ", action.chunk, "; there ",
                 plan_.micro_batches == 1 ? "is 1 micro-batch"
                                          : text("are ", plan_.micro_batches, " micro-batches"),
                 " and ", plan_.chunks, plan_.chunks == 1 ? " chunk" : " chunks", " a stage")};
      }
      if (const auto before = positions_.of(action)) {
        return fault_at(FaultKind::doubled, place, text("it is action ", *before, " already"));
      }
      const bool is_half =
          action.pass == Pass::input_gradient || action.pass == Pass::weight_gradient;
      const bool whole_beside_half = is_half ? positions_.has(action, Pass::backward)
                                             : action.pass == Pass::backward &&
                                                   (positions_.has(action, Pass::input_gradient) ||
                                                    positions_.has(action, Pass::weight_gradient));
      if (whole_beside_half) {
        return fault_at(FaultKind::doubled, place,
                        "a whole backward pass is I and W already; use the one or the two");
      }
      positions_.of(action) = place;
    }
    return std::nullopt;
  }

  std::optional<PlanFault> missing() {
    for (int j = 0; j < plan_.micro_batches; ++j) {
      for (int c = 0; c < plan_.chunks; ++c) {
        const Action forward{Pass::forward, j, c};
        const bool halves = positions_.has(forward, Pass::input_gradient) ||
                            positions_.has(forward, Pass::weight_gradient);
        std::vector<Pass> wanted{Pass::forward};
        if (halves) wanted.insert(wanted.end(), {Pass::input_gradient, Pass::weight_gradient});
        if (!halves) wanted.push_back(Pass::backward);
        for (const Pass pass : wanted) {
          if (positions_.has(forward, pass)) continue;
          return PlanFault{FaultKind::missing, stage_, Action{pass, j, c}, std::nullopt,
                           text("stage ", stage_, " has no ", words(forward, pass))};
        }
      }
    }
    return std::nullopt;
  }

  std::optional<PlanFault> too_early() {
    for (std::size_t place = 0; place < actions_.size(); ++place) {
      const Action& action = actions_[place];
      if (action.pass == Pass::forward) continue;
      if (!positions_.comes_before(action, Pass::forward, place)) {
        return fault_at(
            FaultKind::no_forward_yet, place,
            text("it needs what ", words(action, Pass::forward), " keeps, which comes later"));
      }
      if (action.pass == Pass::weight_gradient &&
          !positions_.comes_before(action, Pass::input_gradient, place)) {
        return fault_at(FaultKind::no_gradient_yet, place,
                        text("it needs the gradients of ", words(action, Pass::input_gradient),
                             ", which comes later"));
      }
    }
    return std::nullopt;
  }

  const Plan& plan_;
  int stage_;
  const std::vector<Action>& actions_;
  PassPositions positions_;
};

// Follows who waits for whom, from some stage that does not go on. Sooner or later, a stage comes
// up for the second time; only those of the circle are reported.
PlanFault circle_of(const Plan& plan, const std::vector<std::size_t>& reached) {
  // The products that have been made when nobody goes on.
  Products made(plan);
  for (int stage = 0; stage < plan.stages; ++stage) {
    const auto& actions = plan.actions[static_cast<std::size_t>(stage)];
    for (std::size_t i = 0; i < reached[static_cast<std::size_t>(stage)]; ++i) {
      made.give(plan, stage, actions[i], 0);
    }
  }
  const auto stuck_at = [&](int stage) {
    const auto s = static_cast<std::size_t>(stage);
    return plan.actions[s][reached[s]];
  };
  const auto waits_for = [&](int stage) {
    for (const Need& need : needs_of(plan, stage, stuck_at(stage))) {
      if (!made.made(need)) return need;
    }
    return Need{};
  };
  int stage = 0;
  while (reached[static_cast<std::size_t>(stage)] ==
         plan.actions[static_cast<std::size_t>(stage)].size()) {
    ++stage;
  }
  for (int step = 0; step < plan.stages; ++step) stage = waits_for(stage).part % plan.stages;
  const int first = stage;
  std::string sentence;
  do {
    const Need need = waits_for(stage);
    const std::string product =
        text_of({Pass::forward, need.micro_batch, need.part / plan.stages}, plan.chunks);
    const int other = need.part % plan.stages;
    sentence += text(sentence.empty() ? "" : "; ", "stage ", stage, " waits at ",
                     text_of(stuck_at(stage), plan.chunks), " for ",
                     need.product == Product::gradient ? "the gradient of " : "", product,
                     " of stage ", other);
    stage = other;
  } while (stage != first);
  return {FaultKind::circle, first, stuck_at(first), reached[static_cast<std::size_t>(first)],
          "no stage can go on: " + sentence};
}

}  // namespace

std::optional<PlanFault> fault_of(const Plan& plan) {
  const bool sizes = plan.stages >= 1 && plan.chunks >= 1 && plan.micro_batches >= 1 &&
                     std::cmp_equal(plan.actions.size(), plan.stages);
  if (!sizes) {
    return PlanFault{FaultKind::sizes,
                     0,
                     {},
                     std::nullopt,
                     text("a plan of ", plan.stages, " stages, ", plan.chunks, " chunks and ",
                          plan.micro_batches, " micro-batches with the actions of ",
                          plan.actions.size(), " stages")};
  }
  std::optional<PlanFault> first;
  for (int stage = 0; stage < plan.stages; ++stage) {
    auto found = StageCheck(plan, stage).fault();
    if (found && (!first || found->kind < first->kind)) first = std::move(found);
  }
  if (first) return first;
  const auto reached = progress_of(plan, [](int, const Action&, const Products&) { return 0.0; });
  for (std::size_t s = 0; s < reached.size(); ++s) {
    if (reached[s] < plan.actions[s].size()) return circle_of(plan, reached);
  }
  return std::nullopt;
}

void check(const Plan& plan) {
  const auto fault = fault_of(plan);
  LOCKSTEP_CHECK(!fault, "pipeline: the plan cannot be carried out: ", fault->sentence);
}

}  // namespace lockstep::pipeline
