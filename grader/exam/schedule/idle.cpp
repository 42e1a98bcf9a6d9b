#include "grader/exam/schedule/idle.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

using pipeline::Action;
using pipeline::Pass;
using pipeline::Plan;
using pipeline::PlanTimeline;
using pipeline::Span;

// When each pass ended, by kind, micro-batch and part of the model.
class Ends {
 public:
  Ends(const Plan& plan, const PlanTimeline& timeline) : plan_(plan) {
    for (std::size_t stage = 0; stage < timeline.stages.size(); ++stage) {
      for (const Span& span : timeline.stages[stage].spans) {
        ends_[key(span.action, part(span.action, static_cast<int>(stage)))] = span.end_s;
      }
    }
  }

  // When all that an action of a stage needs is there.
  double ready_s(const Action& action, int stage) const {
    const int at = part(action, stage), last = plan_.stages * plan_.chunks - 1;
    if (action.pass == Pass::forward) return at == 0 ? 0 : end_s(action, at - 1);
    Action own = action;
    own.pass = action.pass == Pass::weight_gradient ? Pass::input_gradient : Pass::forward;
    const double own_s = end_s(own, at);
    if (action.pass == Pass::weight_gradient || at == last) return own_s;
    return std::max(own_s, end_s(action, at + 1));
  }

 private:
  using Key = std::tuple<Pass, int, int>;
  int part(const Action& action, int stage) const { return action.chunk * plan_.stages + stage; }
  static Key key(const Action& action, int part) { return {action.pass, action.micro_batch, part}; }
  double end_s(const Action& action, int part) const {
    const auto found = ends_.find(key(action, part));
    return found == ends_.end() ? std::numeric_limits<double>::infinity() : found->second;
  }

  const Plan& plan_;
  std::map<Key, double> ends_;
};

PipelinePhase phase_at(const std::vector<Span>& spans, std::size_t place) {
  const auto is_forward = [](const Span& span) { return span.action.pass == Pass::forward; };
  const auto at = spans.begin() + static_cast<std::ptrdiff_t>(place);
  if (std::all_of(spans.begin(), at, is_forward)) return PipelinePhase::warm_up;
  return std::any_of(at, spans.end(), is_forward) ? PipelinePhase::steady
                                                  : PipelinePhase::cool_down;
}

// The place of the first action behind `place` that could have run when the stage fell idle.
std::optional<std::size_t> could_run(const Ends& ends, const std::vector<Span>& spans, int stage,
                                     std::size_t place, double room) {
  const double from_s = place == 0 ? 0 : spans[place - 1].end_s;
  for (std::size_t later = place + 1; later < spans.size(); ++later) {
    const Action& action = spans[later].action;
    if (action.pass == Pass::forward && room < 1) continue;
    if (ends.ready_s(action, stage) <= from_s * (1 + 1e-12)) return later;
  }
  return std::nullopt;
}

struct Candidate {
  IdleTime idle;
  std::size_t from;  // the place of the other action
};

// All of a stage.
void add_candidates(const Ends& ends, const std::vector<Span>& spans, int stage, double room,
                    std::vector<Candidate>& all) {
  double free_s = 0;
  for (std::size_t place = 0; place < spans.size(); ++place) {
    const Span& span = spans[place];
    const double from_s = free_s;
    free_s = span.end_s;
    if (span.start_s > from_s * (1 + 1e-9) + 1e-12) {
      if (const auto later = could_run(ends, spans, stage, place, room)) {
        all.push_back({{phase_at(spans, place),
                        {stage, place, "waits before this"},
                        span.action,
                        spans[*later].action,
                        from_s},
                       *later});
      }
    }
    room -= span.action.pass == Pass::forward;
    room += span.action.pass == Pass::backward || span.action.pass == Pass::weight_gradient;
  }
}

// Each W of a stage that could come behind the next I instead.
void add_early_weights(const std::vector<Span>& spans, int stage, std::vector<Candidate>& all) {
  for (std::size_t place = 0; place < spans.size(); ++place) {
    if (spans[place].action.pass != Pass::weight_gradient) continue;
    for (std::size_t later = place + 1; later < spans.size(); ++later) {
      if (spans[later].action.pass != Pass::input_gradient) continue;
      all.push_back({{.phase = phase_at(spans, place),
                      .mark = {stage, place, "comes too early"},
                      .waits_for = spans[later].action,
                      .could_run = spans[place].action,
                      .from_s = spans[place].start_s,
                      .early_weight = true},
                     later});
      break;
    }
  }
}

// The plan with the change: a later pass runs where the stage waits, or a W behind the next I.
Plan with(const Plan& plan, const Candidate& candidate) {
  Plan other = plan;
  auto& actions = other.actions[static_cast<std::size_t>(candidate.idle.mark.stage)];
  const auto here = actions.begin() + static_cast<std::ptrdiff_t>(candidate.idle.mark.place);
  const auto there = actions.begin() + static_cast<std::ptrdiff_t>(candidate.from);
  if (candidate.idle.early_weight) {
    std::rotate(here, here + 1, there + 1);
  } else {
    std::rotate(here, there, there + 1);
  }
  return other;
}

}  // namespace

int in_flight_in(const std::vector<Action>& actions) {
  int now = 0, most = 0;
  for (const Action& action : actions) {
    now += action.pass == Pass::forward;
    now -= action.pass == Pass::backward || action.pass == Pass::weight_gradient;
    most = std::max(most, now);
  }
  return most;
}

std::string name_of(PipelinePhase phase) {
  if (phase == PipelinePhase::warm_up) return "warm-up";
  return phase == PipelinePhase::steady ? "steady state" : "cool-down";
}

std::optional<IdleTime> first_avoidable_idle(const Plan& plan, const PlanTimeline& timeline,
                                             const std::function<double(int)>& most_in_flight,
                                             const std::function<double(const Plan&)>& lateness_s) {
  constexpr std::size_t tried_max = 64;
  const Ends ends(plan, timeline);
  std::vector<Candidate> all;
  for (int stage = 0; stage < plan.stages; ++stage) {
    add_candidates(ends, timeline.stages[static_cast<std::size_t>(stage)].spans, stage,
                   most_in_flight(stage), all);
  }
  std::optional<IdleTime> best;
  const auto by_time = [](const Candidate& one) { return one.idle.from_s; };
  const auto first = std::ranges::min_element(all, {}, by_time);
  if (first != all.end()) best = first->idle;
  for (int stage = 0; stage < plan.stages; ++stage) {
    add_early_weights(timeline.stages[static_cast<std::size_t>(stage)].spans, stage, all);
  }
  std::ranges::stable_sort(all, {}, by_time);
  double least_s = lateness_s(plan) * (1 - 1e-9);
  for (std::size_t i = 0; i < std::min(all.size(), tried_max); ++i) {
    const int stage = all[i].idle.mark.stage;
    const Plan other = with(plan, all[i]);
    const auto& actions = other.actions[static_cast<std::size_t>(stage)];
    if (in_flight_in(actions) > most_in_flight(stage) || pipeline::fault_of(other)) continue;
    const double late_s = lateness_s(other);
    if (late_s >= least_s) continue;
    least_s = late_s - 1e-12;
    best = all[i].idle;
    best->helps = true;
  }
  return best;
}

std::optional<std::string> other_order(const Plan& plan) {
  const auto place_of = [&](int stage, const Action& action) {
    const auto& actions = plan.actions[static_cast<std::size_t>(stage)];
    return std::ranges::find(actions, action) - actions.begin();
  };
  for (int stage = 0; stage < plan.stages; ++stage) {
    const auto& actions = plan.actions[static_cast<std::size_t>(stage)];
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::input_gradient}) {
      const int giver = pass == Pass::forward ? stage - 1 : stage + 1;
      if (giver < 0 || giver >= plan.stages) continue;
      const Action* before = nullptr;
      for (const Action& action : actions) {
        if (action.pass != pass) continue;
        if (before && before->chunk == action.chunk &&
            place_of(giver, *before) > place_of(giver, action)) {
          return text("stage ", stage, " runs ", text_of(*before, plan.chunks), " before ",
                      text_of(action, plan.chunks), ", and stage ", giver,
                      " runs them the other way round, so one waits for the other");
        }
        before = &action;
      }
    }
  }
  return std::nullopt;
}

std::string told(const IdleTime& idle, int chunks) {
  if (idle.early_weight) {
    return text("in its ", name_of(idle.phase), ", stage ", idle.mark.stage, " runs ",
                text_of(idle.could_run, chunks), " before ", text_of(idle.waits_for, chunks),
                ", for which other stages wait");
  }
  return text("in its ", name_of(idle.phase), ", stage ", idle.mark.stage, " waits for ",
              text_of(idle.waits_for, chunks), ", though ", text_of(idle.could_run, chunks),
              " could run");
}

}  // namespace lockstep::grader
