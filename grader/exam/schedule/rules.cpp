#include "grader/exam/schedule/rules.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "grader/exam/schedule/faults.hpp"
#include "grader/exam/schedule/picture.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

using pipeline::Action;
using pipeline::FaultKind;
using pipeline::Mark;
using pipeline::Pass;
using pipeline::Plan;
using pipeline::PlanFault;
using pipeline::Span;

// At most six digits: sums of costs with two.
std::string short_number(double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.6g", value);
  return out.data();
}

std::string text_of_pipeline(const ScheduleQuestion& q) {
  const std::string said = text(counted(q.stages, "stage"), ", ",
                                q.chunks == 1 ? "" : counted(q.chunks, "chunk") + " each, ",
                                counted(q.micro_batches, "micro-batch"));
  const bool all = q.first == 0 && q.last == q.stages - 1 && q.stages > 0;
  return all ? said : text("stage ", q.first, " of ", said);
}

std::string text_with_costs(const ScheduleRules& rules, const ScheduleQuestion& q) {
  const auto& c = q.costs;
  const std::string backward = rules.backward == BackwardPasses::whole
                                   ? text("tB ", short_number(c.backward_s))
                                   : text("tI ", short_number(c.input_gradient_s), ", tW ",
                                          short_number(c.weight_gradient_s));
  return text(text_of_pipeline(q), ", tF ", short_number(c.forward_s), ", ", backward);
}

// "F0 F1 [B1] F2", cut around the fault.
std::string marked_list(const Plan& plan, int stage, std::optional<std::size_t> place) {
  constexpr std::size_t around = 12;
  const auto& actions = plan.actions[static_cast<std::size_t>(stage)];
  const std::size_t at = place.value_or(0);
  std::string list = text("stage ", stage, ": ", at > around ? "… " : "");
  const std::size_t from = at > around ? at - around : 0;
  const std::size_t to = std::min(actions.size(), at + 2 * around);
  for (std::size_t i = from; i < to; ++i) {
    const bool known = actions[i].pass <= Pass::weight_gradient;
    const std::string action = known ? text_of(actions[i], plan.chunks) : "?";
    list += text(i > from ? " " : "", place == i ? "[" + action + "]" : action);
  }
  if (actions.empty()) list += "no action";
  return list + (to < actions.size() ? " …" : "");
}

Failure failure_of_fault(const ScheduleRules& rules, const Plan& plan, const PlanFault& fault) {
  const bool circle = fault.kind == FaultKind::circle;
  Cause cause = cause_of_fault(plan, fault);
  if (circle && rules.stuck) cause = rules.stuck(plan).value_or(cause);
  std::string seen;
  if (circle) {
    const auto until = pipeline::price_what_runs(plan);
    seen = text_drawing(until, Mark{fault.stage, *fault.place,
                                    text("waits here, at ", text_of(fault.action, plan.chunks))});
  } else if (std::cmp_less(fault.stage, plan.actions.size())) {
    seen = marked_list(plan, fault.stage, fault.place);
  }
  return because(cause, {.verdict = circle ? Verdict::deadlock : Verdict::wrong_answer,
                         .message = fault.sentence,
                         .seen = seen});
}

std::optional<Failure> wrong_kind(const ScheduleRules& rules, const Plan& plan) {
  const bool whole = rules.backward == BackwardPasses::whole;
  for (int stage = 0; std::cmp_less(stage, plan.actions.size()); ++stage) {
    const auto& actions = plan.actions[static_cast<std::size_t>(stage)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const bool is_whole = actions[i].pass == Pass::backward;
      if (actions[i].pass == Pass::forward || is_whole == whole) continue;
      return because({"kind_of_pass", whole ? "this schedule has whole backward passes"
                                            : "this schedule splits each backward pass"},
                     {.message = text("stage ", stage, ", action ", i, ", is ",
                                      text_of(actions[i], plan.chunks), "; the contract asks for ",
                                      whole ? "F and B" : "F, I and W"),
                      .seen = marked_list(plan, stage, i)});
    }
  }
  return std::nullopt;
}

// Why a plan is slow that is of no kind that the exam knows.
Cause cause_of_idle(const JudgedPlan& judged, const std::optional<IdleTime>& idle) {
  if (!idle || !idle->helps) {
    if (const auto order = other_order(judged.plan)) return {"stages_wait", *order};
  }
  if (!idle) {
    return {"stages_wait",
            "no stage has anything else to do when it waits, so an earlier stage gives it what it "
            "needs too late: compare the order of passes from stage to stage"};
  }
  if (!idle->helps) {
    return {"stages_wait",
            "no one pass, run earlier, makes this plan faster, so several stages lose time "
            "together: compare the order of passes from stage to stage"};
  }
  return {text("idle_in_", idle->phase == PipelinePhase::warm_up  ? "warm_up"
                           : idle->phase == PipelinePhase::steady ? "steady_state"
                                                                  : "cool_down"),
          text("time is lost where, ", told(*idle, judged.plan.chunks))};
}

std::optional<Failure> too_slow(const ScheduleRules& rules, const JudgedPlan& judged) {
  const ScheduleRules::Bound bound = rules.makespan(judged.question);
  // Sums of up to a few hundred costs.
  if (judged.timeline.makespan_s <= bound.of * (1 + 1e-9)) return std::nullopt;
  const auto most_in_flight = [&](int stage) {
    return rules.in_flight ? rules.in_flight(judged.question, stage).of
                           : std::numeric_limits<double>::infinity();
  };
  const auto lateness_s = [&](const Plan& plan) {
    double late_s = 0;
    for (const auto& stage : pipeline::price(plan, {{judged.question.costs}, 0}).stages) {
      if (!stage.spans.empty()) late_s += std::max(0.0, stage.spans.back().end_s - bound.of);
    }
    return late_s;
  };
  const auto idle = first_avoidable_idle(judged.plan, judged.timeline, most_in_flight, lateness_s);
  Failure failure = drawn_failure(judged, Verdict::efficiency,
                                  text("the plan takes ", short_number(judged.timeline.makespan_s),
                                       ", but ", short_number(bound.of), " is enough"),
                                  idle ? std::optional(idle->mark) : std::nullopt);
  failure.expected = text("at most ", short_number(bound.of), " = ", bound.formula);
  const Cause cause = rules.slow(judged, idle).value_or(cause_of_idle(judged, idle));
  return because(cause, std::move(failure));
}

std::optional<Failure> too_large(const ScheduleRules& rules, const JudgedPlan& judged) {
  for (int stage = 0; stage < judged.plan.stages; ++stage) {
    const auto s = static_cast<std::size_t>(stage);
    const ScheduleRules::Bound bound = rules.in_flight(judged.question, stage);
    const int most = static_cast<int>(bound.of), seen = judged.timeline.stages[s].in_flight_max;
    if (seen <= most) continue;
    // The forward pass that is one too many.
    std::size_t place = 0;
    for (int in_flight = 0; place < judged.plan.actions[s].size(); ++place) {
      const Pass pass = judged.plan.actions[s][place].pass;
      if (pass == Pass::forward && ++in_flight > most) break;
      in_flight -= pass == Pass::backward || pass == Pass::weight_gradient;
    }
    Failure failure = drawn_failure(
        judged, Verdict::memory,
        text("stage ", stage, " keeps the activations of ", seen, " forward passes at a time, but ",
             most, most == 1 ? " is" : " are", " enough"),
        Mark{stage, place, text("one more than ", most)});
    failure.expected = text("at most ", most, " = ", bound.formula, " on stage ", stage);
    return because(rules.large(judged, stage), std::move(failure));
  }
  return std::nullopt;
}

// True if each stage but the first has a list that is as far ahead as the stage before it has to
// be: the stages are asked one after the other, so these are the lists of the calls before.
bool lists_of_calls_before(const ScheduleRules& rules, const ScheduleQuestion& q,
                           const ScheduleAnswer& seen) {
  if (!rules.in_flight || q.first != 0 || !std::cmp_equal(seen.size(), q.stages)) return false;
  const auto bound = [&](int stage) { return static_cast<int>(rules.in_flight(q, stage).of); };
  bool tells = false;
  for (int stage = 1; stage < q.stages; ++stage) {
    const auto s = static_cast<std::size_t>(stage);
    if (in_flight_in(seen[s]) != bound(stage - 1)) return false;
    tells = tells || bound(stage) != bound(stage - 1);
  }
  return tells && in_flight_in(seen[0]) == bound(0);
}

std::optional<Failure> wrong_schedule(const ScheduleRules& rules, Aspect aspect,
                                      const ScheduleQuestion& q, const ScheduleAnswer& seen) {
  Plan plan{q.stages, q.chunks, q.micro_batches, seen};
  if (const auto fault = pipeline::fault_of(plan)) {
    Failure failure = failure_of_fault(rules, plan, *fault);
    return lists_of_calls_before(rules, q, seen) ? because_instead(kept_from(1), failure) : failure;
  }
  if (auto failure = wrong_kind(rules, plan)) return failure;
  auto timeline = pipeline::price(plan, {{q.costs}, 0});
  const JudgedPlan judged{q, std::move(plan), std::move(timeline)};
  switch (aspect) {
    case Aspect::plan:
      return std::nullopt;
    case Aspect::makespan:
      return too_slow(rules, judged);
    case Aspect::memory:
      return too_large(rules, judged);
    case Aspect::order:
      // A plan that is too slow was reported already.
      return too_slow(rules, judged) ? std::nullopt : rules.order(judged);
  }
  return std::nullopt;
}

// With the usual costs, whatever the case has drawn: a backward pass is two forward passes. A plan
// that cannot be carried out to its end is drawn as far as it goes.
void draw_answer(const ScheduleQuestion& q, const ScheduleAnswer& seen, trace::Timeline& run) {
  const Plan plan{q.stages, q.chunks, q.micro_batches, seen};
  const auto fault = pipeline::fault_of(plan);
  if (fault && fault->kind != FaultKind::circle) return;
  run.facts.emplace_back("plan", text_of_pipeline(q));
  draw_plan(fault ? pipeline::price_what_runs(plan) : pipeline::price(plan), run);
}

// Half of the micro-batches, one less, one stage less, one chunk less. A number of micro-batches
// that the stages divide stays one. Two stages remain, and two chunks: less shows no pipeline.
std::vector<ScheduleQuestion> smaller_pipelines(const ScheduleRules& rules,
                                                const ScheduleQuestion& q) {
  std::vector<ScheduleQuestion> offered;
  const bool divides = q.micro_batches % q.stages == 0;
  const auto offer = [&](int stages, int chunks, int micro_batches) {
    const auto smaller = pipeline_of(stages, chunks, micro_batches, q.costs);
    const bool shows = stages >= std::min(q.stages, 2) && chunks >= std::min(q.chunks, 2);
    if (shows && rules.valid(smaller)) offered.push_back(smaller);
  };
  if (q.micro_batches > 3) offer(q.stages, q.chunks, q.micro_batches / 2);
  if (divides) offer(q.stages - 1, q.chunks, q.micro_batches / q.stages * (q.stages - 1));
  offer(q.stages - 1, q.chunks, q.micro_batches);
  offer(q.stages, q.chunks - 1, q.micro_batches);
  offer(q.stages, q.chunks, q.micro_batches - q.stages);
  offer(q.stages, q.chunks, q.micro_batches - 1);
  return offered;
}

}  // namespace

bool is_pipeline(const ScheduleQuestion& q) {
  return q.first >= 0 && q.last < q.stages && q.micro_batches >= 1;
}

ScheduleContract contract_of(const ScheduleRules& rules, Aspect aspect) {
  ScheduleContract contract;
  contract.text_of = [=](const ScheduleQuestion& q) {
    return aspect == Aspect::makespan ? text_with_costs(rules, q) : text_of_pipeline(q);
  };
  contract.wrong = [=](std::span<const ScheduleQuestion> asked, const ScheduleAnswer& seen) {
    return wrong_schedule(rules, aspect, asked.back(), seen);
  };
  contract.smaller = [=](const ScheduleQuestion& q) { return smaller_pipelines(rules, q); };
  contract.refusals = {
      .valid = rules.valid,
      .accepts = {"accepts_nonsense", rules.refuses},
      .nonsense = {stage_alone(4, 4, 1, 4), stage_alone(-1, 4, 1, 4), stage_alone(0, 0, 1, 4),
                   stage_alone(0, -1, 1, 4), stage_alone(0, 4, 1, 0), stage_alone(3, 4, 1, -4)}};
  auto& nonsense = contract.refusals->nonsense;
  nonsense.insert(nonsense.end(), rules.nonsense.begin(), rules.nonsense.end());
  contract.sizes = [](const ScheduleQuestion& q) -> Sizes { return {q.stages, {q.micro_batches}}; };
  contract.least_count = 1;
  contract.picture = draw_answer;
  contract.situations = [=](const ScheduleQuestion& q) {
    std::vector<Situation> asked;
    const bool costs = aspect == Aspect::makespan || aspect == Aspect::memory;
    if (aspect == Aspect::makespan && q.stages == 13) asked.push_back(Situation::cost_at_13_ranks);
    if (costs && (q.stages == 1 || q.micro_batches == 1)) {
      asked.push_back(Situation::price_at_the_extremes);
    }
    return asked;
  };
  return contract;
}

ScheduleQuestion pipeline_of(int stages, int chunks, int micro_batches,
                             const pipeline::PassCosts& costs) {
  return {stages, chunks, micro_batches, 0, stages - 1, costs};
}

ScheduleQuestion stage_alone(int stage, int stages, int chunks, int micro_batches) {
  return {stages, chunks, micro_batches, stage, stage};
}

std::vector<ScheduleQuestion> every_pipeline(const ScheduleRules& rules) {
  std::vector<ScheduleQuestion> questions;
  const auto add = [&](int stages, int chunks, int micro_batches) {
    const auto q = pipeline_of(stages, chunks, micro_batches);
    const bool is_new = std::ranges::none_of(questions, [&](const ScheduleQuestion& other) {
      return other.stages == stages && other.chunks == chunks &&
             other.micro_batches == micro_batches;
    });
    if (is_new && rules.valid(q)) questions.push_back(q);
  };
  add(4, std::min(2, rules.chunks_max), 8);  // the one that is drawn first, so a small one
  for (const int stages : every_rank_count) {
    const bool is_wide = stages > 17;
    for (int chunks = 1; chunks <= (stages > 8 ? 1 : rules.chunks_max); ++chunks) {
      for (const int m : {1, stages - 1, stages, 2 * stages, 3 * stages, 5 * stages, 2, 7, 13}) {
        if (!is_wide || m <= 7 || (m == stages && rules.chunks_max > 1)) add(stages, chunks, m);
      }
    }
  }
  add(13, std::min(3, rules.chunks_max), 39);
  add(2, std::min(2, rules.chunks_max), 258);
  add(3, std::min(7, rules.chunks_max), 300);
  return questions;
}

std::vector<ScheduleQuestion> priced_pipelines(CaseRunner& runner, const ScheduleRules& rules) {
  auto questions = every_pipeline(rules);
  for (ScheduleQuestion& q : questions) q.costs = drawn_costs(runner);
  return questions;
}

Check check_of_nonsense(const ScheduleRules& rules, const std::string& name) {
  return check_of_refusals(contract_of(rules, Aspect::plan), name, {stage_alone(0, 1, 1, 1)});
}

Check check_of(const ScheduleRules& rules, Aspect aspect, const std::string& name) {
  return {
      name, [=](CaseRunner& runner) {
        judge(runner, contract_of(rules, aspect), "pipelines of 1 to 300 stages",
              aspect == Aspect::makespan ? priced_pipelines(runner, rules) : every_pipeline(rules));
      }};
}

pipeline::PassCosts drawn_costs(CaseRunner& runner) {
  const auto drawn = [&] { return static_cast<double>(runner.draw_between(10, 200)) / 100; };
  pipeline::PassCosts costs{drawn(), 0, drawn(), drawn()};
  costs.backward_s = costs.input_gradient_s + costs.weight_gradient_s;
  return costs;
}

bool forwards_first(const std::vector<Action>& actions) {
  return std::ranges::is_partitioned(
      actions, [](const Action& action) { return action.pass == Pass::forward; });
}

bool one_at_a_time(const JudgedPlan& judged) {
  return std::ranges::all_of(judged.timeline.stages, [](const pipeline::StageTimeline& stage) {
    return stage.in_flight_max <= 1;
  });
}

Failure drawn_failure(const JudgedPlan& judged, Verdict verdict, const std::string& message,
                      const std::optional<Mark>& mark) {
  Failure failure{.verdict = verdict, .message = message};
  failure.seen = text_drawing(judged.timeline, mark);
  failure.counters = {{"makespan", judged.timeline.makespan_s},
                      {"bubble of ideal %", 100 * judged.timeline.bubble_of_ideal()},
                      {"bubble of total %", 100 * judged.timeline.bubble_of_total()}};
  return failure;
}

}  // namespace lockstep::grader
