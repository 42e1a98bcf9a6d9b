#include "grader/exam/schedule/picture.hpp"

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::grader {
namespace {

using pipeline::Pass;

// "forward 3", with the chunk if a stage has several: "forward 3.1".
std::string name_of_pass(const pipeline::Action& action, int chunks) {
  const char* const kind = action.pass == Pass::forward          ? "forward "
                           : action.pass == Pass::backward       ? "backward "
                           : action.pass == Pass::input_gradient ? "input gradient "
                                                                 : "weight gradient ";
  return text(kind, action.micro_batch, chunks > 1 ? text(".", action.chunk) : "");
}

void draw_stage(const pipeline::PlanTimeline& plan, int stage, trace::Timeline& run) {
  double until_s = 0;
  int in_flight = 0;
  for (const pipeline::Span& span : plan.stages[static_cast<std::size_t>(stage)].spans) {
    trace::Span pass{.rank = stage, .start_s = span.start_s, .end_s = span.end_s};
    pass.name = run.named(name_of_pass(span.action, plan.chunks));
    run.add(pass);
    trace::Span idle{.rank = stage, .lane = trace::Lane::waiting};
    idle.name = run.named("idle");
    idle.start_s = until_s;
    idle.end_s = span.start_s;
    run.add(idle);
    until_s = span.end_s;
    const Pass kind = span.action.pass;
    if (kind == Pass::forward) run.sample("activations", "", stage, span.start_s, ++in_flight);
    if (kind == Pass::backward || kind == Pass::weight_gradient) {
      run.sample("activations", "", stage, span.end_s, --in_flight);
    }
  }
}

}  // namespace

void draw_plan(const pipeline::PlanTimeline& plan, trace::Timeline& run) {
  run.ranks = static_cast<int>(plan.stages.size());
  for (int stage = 0; stage < run.ranks; ++stage) draw_stage(plan, stage, run);
  constexpr double percent = 100;
  run.facts.emplace_back("ranks", "the stages of the pipeline");
  run.facts.emplace_back("takes", text(plan.makespan_s, " units of time"));
  run.facts.emplace_back("bubble", text(percent * plan.bubble_of_total(), " % of it"));
}

}  // namespace lockstep::grader
