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

OptimizerProblem usual(CaseRunner& runner, int ranks, std::vector<TrainingStep> steps = {{}, {}}) {
  Training training{.sizes = {35, 1, 0, 13}, .steps = std::move(steps)};
  return {whole_world(ranks), std::move(training), runner.draw()};
}

void on_all_ranks(CaseRunner& runner) {
  for (const int n : rank_counts) {
    OptimizerProblem p = usual(runner, n, {{}, {}, {}});
    if (n > 4) {  // a round of all ranks is 300 messages: the gradients come together
      p.training.sizes = {35, 0, 13};
      p.training.gap_s = 1e-7;
    }
    p.training.order = Training::Order::last_first;
    judge(runner, contract_of_results(), p);
  }
}

void overlap(CaseRunner& runner) {
  for (const int ranks : {2, 4, 3}) {
    for (const double gap_s : {slow_s, quick_s}) {
      OptimizerProblem p = usual(runner, ranks);
      p.training.sizes = {400, 130, 50, 1000, 8, 300};
      p.training.gap_s = gap_s;
      p.training.order = Training::Order::last_first;
      judge(runner, contract_of_costs(), p);
    }
  }
}

void any_order(CaseRunner& runner) {
  for (const auto& [ranks, cycle_s] : {std::pair{2, 0.0}, {3, 50e-6}, {3, 0.0}, {5, 50e-6}}) {
    OptimizerProblem p = usual(runner, ranks);
    p.training.cycle_s = cycle_s;
    p.training.threshold_bytes = ranks == 3 ? 0 : 200;
    judge(runner, contract_of_results(), p);
  }
  // So do the wrapped optimizers.
  OptimizerProblem p = usual(runner, 2);
  p.training.sizes = {6, 6, 6};
  p.training.lists = Training::Lists::reversed_on_odd_ranks;
  judge(runner, contract_of_results(), p);
}

void several_passes(CaseRunner& runner) {
  for (const auto& [ranks, passes] : {std::pair{3, 2}, {2, 3}, {1, 2}}) {
    OptimizerProblem p = usual(runner, ranks, {{.passes = passes}, {.passes = passes}});
    p.training.passes_per_step = passes;
    judge(runner, contract_of_costs(), p);
  }
}

void not_all_there(CaseRunner& runner) {
  for (const int ranks : {3, 2}) {
    judge(runner, contract_of_results(),
          usual(runner, ranks, {{.makes = Makes::some_absent}, {}, {.makes = Makes::some_absent}}));
    OptimizerProblem p = usual(runner, ranks, {{.passes = 1}, {.passes = 3}, {.passes = 2}});
    p.training.passes_per_step = 3;
    judge(runner, contract_of_results(), p);
  }
}

// Shapes of every kind, in each type, some of them absent.
void any_shape(CaseRunner& runner) {
  for (const DType dtype : every_gradient_dtype) {
    OptimizerProblem p = usual(runner, 2, {{.makes = Makes::some_absent}, {}});
    p.training.sizes = {24, 1, 16, 12, 13};
    p.training.dtype = dtype;
    p.training.rule = WrappedRule::sgd;
    judge(runner, contract_of_results(), p);
  }
}

void odd_values(CaseRunner& runner) {
  for (const Held held : every_held) {
    OptimizerProblem p = usual(runner, 2);
    p.training.sizes = {35, 12, 8, 13};
    p.training.held = held;
    judge(runner, contract_of_results(), p);
  }
}

void sums_and_factors(CaseRunner& runner) {
  for (const int ranks : {3, 4, 1}) {
    OptimizerProblem p = usual(runner, ranks);
    p.training.combine = Combine::sum;
    judge(runner, contract_of_results(), p);
    p.training.combine = Combine::average;
    p.training.predivide_factor = 2.5;
    judge(runner, contract_of_results(), p);
  }
  // On two ranks the bits tell what is done before the sum.
  OptimizerProblem two = usual(runner, 2, {{}});
  two.training.predivide_factor = 2.5;
  judge(runner, contract_of_results(), two);
  // Their sum is beyond float16, and a quarter of it is not.
  OptimizerProblem large = usual(runner, 4);
  large.training.dtype = DType::float16;
  large.training.rule = WrappedRule::sgd;
  large.training.predivide_factor = 4;
  large.training.size_of_gradients = 9'000;
  large.training.sizes = {64, 128};
  judge(runner, contract_of_results(), large);
}

void any_rule(CaseRunner& runner) {
  for (const WrappedRule rule : {WrappedRule::adam, WrappedRule::sgd, WrappedRule::adamw}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      OptimizerProblem p = usual(runner, 3);
      p.training.sizes = {35, 0, 13};
      p.training.rule = rule;
      p.training.dtype = dtype;
      judge(runner, contract_of_results(), p);
    }
  }
}

void clipped(CaseRunner& runner) {
  for (const int ranks : {2, 3}) {
    judge(runner, contract_of_costs(),
          usual(runner, ranks, {{.ends = Ends::clipped}, {}, {.ends = Ends::clipped}}));
  }
  judge(runner, contract_of_results(),
        usual(runner, 2, {{.ends = Ends::two_guards}, {.ends = Ends::one_of_two}, {}}));
}

void reduced_again(CaseRunner& runner) {
  for (const int passes_per_step : {1, 2}) {
    OptimizerProblem p = usual(runner, 2,
                               {{.begins = Begins::synchronized,
                                 .makes = Makes::some_absent,
                                 .ends = Ends::clipped,
                                 .tries = Tries::skipped_step}});
    p.training.passes_per_step = passes_per_step;
    judge(runner, contract_of_results(), p);
  }
  OptimizerProblem left =
      usual(runner, 2,
            {{.ends = Ends::clipped},
             {.passes = 0, .begins = Begins::as_left},
             {.passes = 0, .begins = Begins::as_left},
             {.passes = 0, .begins = Begins::as_left, .ends = Ends::under_guard}});
  left.training.combine = Combine::sum;
  judge(runner, contract_of_results(), left);
}

OptimizerProblem in_one_order(CaseRunner& runner, int ranks, std::vector<TrainingStep> steps) {
  OptimizerProblem p = usual(runner, ranks, std::move(steps));
  p.training.order = Training::Order::last_first;
  return p;
}

void refused(CaseRunner& runner) {
  for (const int ranks : {1, 2}) {
    judge(runner, contract_of_results(),
          in_one_order(runner, ranks, {{.tries = Tries::extra_gradient}, {}}));
    judge(runner, contract_of_results(),
          in_one_order(runner, ranks, {{.tries = Tries::zero_grad}, {}}));
    for (const Tries tries : {Tries::zero_grad, Tries::extra_gradient}) {
      OptimizerProblem p = in_one_order(runner, ranks, {{.passes = 2, .tries = tries}});
      p.training.passes_per_step = 2;
      judge(runner, contract_of_results(), p);
    }
    judge(runner, contract_of_results(),
          in_one_order(runner, ranks, {{.tries = Tries::skipped_step}, {}}));
    for (const Tries tries : {Tries::synchronize_again, Tries::step_again}) {
      judge(runner, contract_of_results(),
            in_one_order(runner, ranks, {{.ends = Ends::clipped, .tries = tries}, {}}));
    }
  }
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, three steps with momentum take the mean of the ranks' gradients, "
       "with the same bits on every rank",
       on_all_ranks},
      {"each gradient is handed over in its hook, and nothing waits before step",
       overlap,
       {},
       Asks::cost},
      {"ranks whose gradients come in different orders, or that list their parameters in different "
       "orders, take the same steps",
       any_order},
      {"the passes of a step are added up, reduced once, and not divided by their number",
       several_passes,
       {},
       Asks::cost},
      {"a parameter that never had a gradient counts as zeros, and a step of fewer passes is "
       "reduced as it "
       "is",
       not_all_there},
      {"a sum is not divided, and a predivide factor moves the division before the sum",
       sums_and_factors},
      {"SGD, Adam and AdamW are wrapped unchanged", any_rule},
      {"gradients of any shape and type, some of which a rank lacks", any_shape},
      {"NaN and infinity on one rank arrive on all; zeros are gradients, too", odd_values},
      {"gradients can be changed between synchronize and step, under any number of guards",
       clipped},
      {"what would touch a gradient that is on its way is refused", refused},
      {"after another backward pass, or a step, gradients are reduced again as they are",
       reduced_again},
      {"in a subgroup the gradients are reduced over that subgroup",
       [](CaseRunner& runner) {
         OptimizerProblem p = usual(runner, 8);
         p.members.ranks = {6, 1, 4};
         judge(runner, contract_of_results(), p);
       }},
      {"when a peer is lost, a rank throws CommError",
       [](CaseRunner& runner) {
         // While backward runs, and when it is over and the others wait in the only step.
         for (const auto& [gap_s, at_request] : {std::pair{20e-6, 12}, {1e-7, 13}, {1e-7, 16}}) {
           OptimizerProblem p = usual(runner, 4, {{}});
           p.training.gap_s = gap_s;
           judge_lost_peer(runner, contract_of_results(), p, 2, at_request);
         }
       },
       {},
       Asks::cost},
  };
}

}  // namespace lockstep::grader::distributed_optimizer
