// The exam of mixed_precision_step. The judge has the gradients, and answers a backward pass with
// those of the scale that it is told. What is right after a step is in rules.cpp.
#include "grader/parts/11_sharding/mixed_precision_step/rules.hpp"

#include <algorithm>

namespace lockstep::grader::mixed_precision_step {
namespace {

using Problem = MixedProblem;
using Holds = StepPlan::Holds;

Problem of(int ranks, std::vector<StepPlan> steps = {{}, {}, {}}) {
  return {.members = whole_world(ranks), .steps = std::move(steps)};
}

void overflows(CaseRunner& runner) {
  for (const Holds holds : {Holds::infinity, Holds::not_a_number}) {
    for (const auto& [ranks, rank] : {std::pair{2, 0}, {3, 2}, {4, 1}, {1, 0}}) {
      // In the range of each rank, the last element of the model among them.
      Problem p = of(ranks);
      p.steps = {{}, {holds, rank, p.elements() - 1}, {}, {holds, rank, 0}, {}};
      p.dtype = ranks == 3 ? DType::bfloat16 : DType::float16;
      p.rule = ranks % 2 == 0 ? MixedRule::adam : MixedRule::momentum;
      play(runner, contract(), p);
    }
  }
}

void rule_of_scale(CaseRunner& runner) {
  const StepPlan bad{Holds::infinity, 0, 3};
  for (const std::int64_t good_steps : {0, 2}) {
    for (const std::int64_t interval : {3, 4, 1}) {
      Problem p = of(2, {{}, {}, bad, bad, {}, {}, {}, {}, {}, {}, {}});
      p.scale = 1024;
      p.good_steps = std::min(good_steps, interval - 1);
      p.interval = interval;
      play(runner, contract(), p);
    }
  }
}

void too_large(CaseRunner& runner) {
  for (const int ranks : {2, 3}) {
    const StepPlan large{Holds::too_large, ranks - 1, 1};
    Problem p = of(ranks, {large, large, large, {}, large, large});
    p.interval = 2;
    play(runner, contract(), p);
  }
  play(runner, contract(), of(2, {{Holds::large_sum, 0, 1}, {}}));
}

void clips(CaseRunner& runner) {
  for (const int ranks : {2, 4, 1}) {
    for (const double share : {0.3, 3.0}) {
      Problem p = of(ranks);
      const std::uint64_t salt = runner.draw();
      p.max_norm = share * first_norm(p, salt);
      if (ranks == 4 && share > 1) p.max_norm = -p.max_norm;
      play(runner, contract(), p, salt);
    }
  }
}

void costs(CaseRunner& runner) {
  for (const int ranks : {2, 8, 3, 1}) {
    Problem p = of(ranks, {{}, {Holds::infinity, 0, 1}, {}});
    p.range = 500;
    p.max_norm = 1e-3;
    Situations asked;
    if (ranks == 1) asked = {Situation::price_at_the_extremes};
    const auto played = play(runner, contract(), p, asked);
    if (played) check_cost(runner, *played, p);
  }
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, the masters take the mean gradient, and the parameters are the "
       "masters, rounded",
       [](CaseRunner& runner) {
         for (const int n : rank_counts) play(runner, contract(), of(n));
         Problem some = of(3);
         some.members = {5, {4, 0, 3}};
         play_twice(runner, contract(), some);
       }},
      {"in both types, with momentum and with Adam, updates of a ten-thousandth add up",
       [](CaseRunner& runner) {
         for (const DType dtype : {DType::float16, DType::bfloat16}) {
           for (const MixedRule rule : {MixedRule::momentum, MixedRule::adam}) {
             Problem p = of(2, std::vector<StepPlan>(12));
             p.dtype = dtype;
             p.rule = rule;
             // In float16, the smallest number is 6e-8: divided there, little would be left.
             if (dtype == DType::float16 && rule == MixedRule::momentum) p.size = 1e-7;
             play(runner, contract(), p);
           }
         }
       }},
      {"an infinity or a NaN in the gradients of one rank: all ranks skip, and nothing changes",
       overflows},
      {"a skipped step halves the scale, and `interval` good ones in a row double it",
       rule_of_scale},
      {"a gradient that is too large for float16 is skipped until the scale fits; a mean that fits "
       "is taken",
       too_large},
      {"clipping uses the norm of the unscaled mean gradient of the whole model", clips},
      {"gradients of zeros are gradients, too",
       [](CaseRunner& runner) {
         for (const int ranks : {3, 2}) {
           play(runner, contract(), of(ranks, {{Holds::zeros_on_one, 1}, {Holds::zeros}, {}}));
         }
         play(runner, contract(), of(2, {{Holds::zeros}, {Holds::zeros}}));
       }},
      {"when a peer is lost, a rank throws CommError, and no master moves without the others",
       [](CaseRunner& runner) {
         Problem p = of(4, {{}, {Holds::infinity, 1, 2}, {}});
         p.schedule_seed = runner.draw();
         judge_lost_peers(runner, contract(), p);
       },
       {},
       Asks::cost},
      {"gradients and parameters travel once, in 16 bits", costs, {}, Asks::cost},
  };
}

}  // namespace lockstep::grader::mixed_precision_step
