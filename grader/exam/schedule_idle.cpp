#include "grader/exam/schedule_idle.hpp"

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

// The first action behind `place` that could have run when the stage fell idle.
std::optional<Action> could_run(const Ends& ends, const std::vector<Span>& spans, int stage,
                                std::size_t place, double room) {
  const double from_s = place == 0 ? 0 : spans[place - 1].end_s;
  for (std::size_t later = place + 1; later < spans.size(); ++later) {
    const Action& action = spans[later].action;
    if (action.pass == Pass::forward && room < 1) continue;
    if (ends.ready_s(action, stage) <= from_s * (1 + 1e-12)) return action;
  }
  return std::nullopt;
}

}  // namespace

std::string name_of(PipelinePhase phase) {
  if (phase == PipelinePhase::warm_up) return "warm-up";
  return phase == PipelinePhase::steady ? "steady state" : "cool-down";
}

std::optional<IdleTime> first_avoidable_idle(const Plan& plan, const PlanTimeline& timeline,
                                             const std::function<double(int)>& most_in_flight) {
  const Ends ends(plan, timeline);
  std::optional<IdleTime> first;
  for (int stage = 0; stage < plan.stages; ++stage) {
    const auto& spans = timeline.stages[static_cast<std::size_t>(stage)].spans;
    double room = most_in_flight(stage), free_s = 0;
    for (std::size_t place = 0; place < spans.size(); ++place) {
      const Span& span = spans[place];
      const double from_s = free_s;
      free_s = span.end_s;
      const bool waits = span.start_s > from_s * (1 + 1e-9) + 1e-12;
      if (waits && (!first || from_s < first->from_s)) {
        if (const auto other = could_run(ends, spans, stage, place, room)) {
          first = {phase_at(spans, place),
                   {stage, place, "waits before this"},
                   span.action,
                   *other,
                   from_s};
        }
      }
      room -= span.action.pass == Pass::forward;
      room += span.action.pass == Pass::backward || span.action.pass == Pass::weight_gradient;
    }
  }
  return first;
}

std::string told(const IdleTime& idle, int chunks) {
  return text("in its ", name_of(idle.phase), ", stage ", idle.mark.stage, " waits for ",
              text_of(idle.waits_for, chunks), ", though ", text_of(idle.could_run, chunks),
              " could run");
}

}  // namespace lockstep::grader
