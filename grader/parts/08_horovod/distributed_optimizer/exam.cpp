// The exam of distributed_optimizer. The judge makes the gradients, in another order on each rank,
// and sees when the background strand of each rank has something to do. What is right after each
// step is in rules.hpp.
#include "grader/parts/08_horovod/distributed_optimizer/rules.hpp"

namespace lockstep::grader::distributed_optimizer {
namespace {

using horovod::Combine;
using Begins = TrainingStep::Begins;
using Ends = TrainingStep::Ends;
using Makes = TrainingStep::Makes;
using Tries = TrainingStep::Tries;

// Gradients, beside rounds of some 100e-6 s.
constexpr double quick_s = 8e-6, slow_s = 300e-6;

const RanksChecks checks(contract_of_results(), [](OptimizerProblem& p) {
  p.training.sizes = {35, 1, 0, 13};
  p.training.steps = {{}, {}};
});
const RanksChecks costs = checks.then(check_hand_over);

// Changes the training of the usual problem.
std::function<void(OptimizerProblem&)> with(const std::function<void(Training&)>& change) {
  return [=](OptimizerProblem& p) { change(p.training); };
}
std::function<void(OptimizerProblem&)> with_steps(std::vector<TrainingStep> steps) {
  return with([steps = std::move(steps)](Training& t) { t.steps = steps; });
}

void three_steps(OptimizerProblem& p) {
  p.training.steps = {{}, {}, {}};
  if (p.members.size() > 4) {  // a round of all ranks is 300 messages: the gradients come together
    p.training.sizes = {35, 0, 13};
    p.training.gap_s = 1e-7;
  }
  p.training.order = Training::Order::last_first;
}

void overlap(CaseRunner& runner) {
  for (const int ranks : {2, 4, 3}) {
    for (const double gap_s : {slow_s, quick_s}) {
      costs.ask(runner, ranks, with([=](Training& t) {
                  t.sizes = {400, 130, 50, 1000, 8, 300};
                  t.gap_s = gap_s;
                  t.order = Training::Order::last_first;
                }));
    }
  }
}

void any_order(CaseRunner& runner) {
  for (const auto& [ranks, cycle_s] : {std::pair{2, 0.0}, {3, 50e-6}, {3, 0.0}, {5, 50e-6}}) {
    OptimizerProblem p = checks.usual(runner, ranks);
    p.training.cycle_s = cycle_s;
    p.training.threshold_bytes = ranks == 3 ? 0 : 200;
    checks.ask(runner, p);
  }
  // So do the wrapped optimizers.
  checks.ask(runner, 2, with([](Training& t) {
               t.sizes = {6, 6, 6};
               t.lists = Training::Lists::reversed_on_odd_ranks;
             }));
}

void several_passes(CaseRunner& runner) {
  for (const auto& [ranks, passes] : {std::pair{3, 2}, {2, 3}, {1, 2}}) {
    OptimizerProblem p = checks.usual(runner, ranks);
    p.training.steps = {{.passes = passes}, {.passes = passes}};
    p.training.passes_per_step = passes;
    costs.ask(runner, p);
  }
}

void not_all_there(CaseRunner& runner) {
  for (const int ranks : {3, 2}) {
    checks.ask(runner, ranks,
               with_steps({{.makes = Makes::some_absent}, {}, {.makes = Makes::some_absent}}));
    checks.ask(runner, ranks, with([](Training& t) {
                 t.steps = {{.passes = 1}, {.passes = 3}, {.passes = 2}};
                 t.passes_per_step = 3;
               }));
  }
}

// Shapes of every kind, some of them absent.
void of_any_shape(OptimizerProblem& p) {
  p.training.steps = {{.makes = Makes::some_absent}, {}};
  p.training.sizes = {24, 1, 16, 12, 13};
  p.training.rule = WrappedRule::sgd;
}

void sums_and_factors(CaseRunner& runner) {
  for (const int ranks : {3, 4, 1}) {
    OptimizerProblem p = checks.usual(runner, ranks);
    p.training.combine = Combine::sum;
    checks.ask(runner, p);
    p.training.combine = Combine::average;
    p.training.predivide_factor = 2.5;
    checks.ask(runner, p);
  }
  // On two ranks the bits tell what is done before the sum.
  checks.ask(runner, 2, with([](Training& t) {
               t.steps = {{}};
               t.predivide_factor = 2.5;
             }));
  // Their sum is beyond float16, and a quarter of it is not.
  checks.ask(runner, 4, with([](Training& t) {
               t.dtype = DType::float16;
               t.rule = WrappedRule::sgd;
               t.predivide_factor = 4;
               t.size_of_gradients = 9'000;
               t.sizes = {64, 128};
             }));
}

void any_rule(CaseRunner& runner) {
  for (const WrappedRule rule : {WrappedRule::adam, WrappedRule::sgd, WrappedRule::adamw}) {
    checks.types({DType::float32, DType::float64}, 3, with([=](Training& t) {
                   t.sizes = {35, 0, 13};
                   t.rule = rule;
                 }))(runner);
  }
}

void reduced_again(CaseRunner& runner) {
  for (const int passes_per_step : {1, 2}) {
    checks.ask(runner, 2, with([=](Training& t) {
                 t.steps = {{.begins = Begins::synchronized,
                             .makes = Makes::some_absent,
                             .ends = Ends::clipped,
                             .tries = Tries::skipped_step}};
                 t.passes_per_step = passes_per_step;
               }));
  }
  checks.ask(runner, 2, with([](Training& t) {
               t.steps = {{.ends = Ends::clipped},
                          {.passes = 0, .begins = Begins::as_left},
                          {.passes = 0, .begins = Begins::as_left},
                          {.passes = 0, .begins = Begins::as_left, .ends = Ends::under_guard}};
               t.combine = Combine::sum;
             }));
}

void refused(CaseRunner& runner) {
  for (const int ranks : {1, 2}) {
    const auto refuse = [&](std::vector<TrainingStep> steps, int passes_per_step = 1) {
      checks.ask(runner, ranks, with([&](Training& t) {
                   t.steps = std::move(steps);
                   t.passes_per_step = passes_per_step;
                   t.order = Training::Order::last_first;
                 }));
    };
    refuse({{.tries = Tries::extra_gradient}, {}});
    refuse({{.tries = Tries::zero_grad}, {}});
    for (const Tries tries : {Tries::zero_grad, Tries::extra_gradient}) {
      refuse({{.passes = 2, .tries = tries}}, 2);
    }
    refuse({{.tries = Tries::skipped_step}, {}});
    for (const Tries tries : {Tries::synchronize_again, Tries::step_again}) {
      refuse({{.ends = Ends::clipped, .tries = tries}, {}});
    }
  }
}

// While backward runs, and when it is over and the others wait in the only step.
void lost_peers(CaseRunner& runner) {
  for (const auto& [gap_s, at_request] : {std::pair{20e-6, 12}, {1e-7, 13}, {1e-7, 16}}) {
    OptimizerProblem p = checks.usual(runner, 4, with_steps({{}}));
    p.training.gap_s = gap_s;
    judge_lost_peer(runner, checks.contract(), p, 2, at_request);
  }
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, three steps with momentum take the mean of the ranks' gradients, "
       "with the same bits on every rank",
       checks.every_size(three_steps)},
      of_cost("each gradient is handed over in its hook, and nothing waits before step", overlap),
      {"ranks whose gradients come in different orders, or that list their parameters in different "
       "orders, take the same steps",
       any_order},
      of_cost("the passes of a step are added up, reduced once, and not divided by their number",
              several_passes),
      {"a parameter that never had a gradient counts as zeros, and a step of fewer passes is "
       "reduced as it is",
       not_all_there},
      {"a sum is not divided, and a predivide factor moves the division before the sum",
       sums_and_factors},
      {"SGD, Adam and AdamW are wrapped unchanged", any_rule},
      {"gradients of any shape and type, some of which a rank lacks",
       checks.types({std::begin(every_gradient_dtype), std::end(every_gradient_dtype)}, 2,
                    of_any_shape)},
      {"NaN and infinity on one rank arrive on all; zeros are gradients, too",
       checks.odd_values(2, with([](Training& t) {
                           t.sizes = {35, 12, 8, 13};
                         }))},
      {"gradients can be changed between synchronize and step, under any number of guards",
       in_turn(costs.on({2, 3}, with_steps({{.ends = Ends::clipped}, {}, {.ends = Ends::clipped}})),
               checks.on(
                   {2}, with_steps({{.ends = Ends::two_guards}, {.ends = Ends::one_of_two}, {}})))},
      {"what would touch a gradient that is on its way is refused", refused},
      {"after another backward pass, or a step, gradients are reduced again as they are",
       reduced_again},
      {"in a subgroup the gradients are reduced over that subgroup", checks.in_a_subgroup()},
      of_fault("when a peer is lost, a rank throws CommError", lost_peers),
  };
}

}  // namespace lockstep::grader::distributed_optimizer
