// The exam of mixed_precision_step. The judge has the gradients, and answers a backward pass with
// those of the scale that it is told. What is right after a step is in rules.cpp.
#include "grader/parts/11_sharding/mixed_precision_step/rules.hpp"

#include <algorithm>

namespace lockstep::grader::mixed_precision_step {
namespace {

using Problem = MixedProblem;
using Holds = StepPlan::Holds;

const RanksChecks checks(contract());

void overflows(CaseRunner& runner) {
  for (const Holds holds : {Holds::infinity, Holds::not_a_number}) {
    for (const auto& [ranks, rank] : {std::pair{2, 0}, {3, 2}, {4, 1}, {1, 0}}) {
      // In the range of each rank, the last element of the model among them.
      Problem p = checks.usual(runner, ranks);
      p.steps = {{}, {holds, rank, p.elements() - 1}, {}, {holds, rank, 0}, {}};
      p.dtype = ranks == 3 ? DType::bfloat16 : DType::float16;
      p.rule = ranks % 2 == 0 ? MixedRule::adam : MixedRule::momentum;
      checks.ask(runner, p);
    }
  }
}

void small_updates(CaseRunner& runner) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (const MixedRule rule : {MixedRule::momentum, MixedRule::adam}) {
      checks.ask(runner, 2, [&](Problem& p) {
        p.steps.assign(12, {});
        p.dtype = dtype;
        p.rule = rule;
        // In float16, the smallest number is 6e-8: divided there, little would be left.
        if (dtype == DType::float16 && rule == MixedRule::momentum) p.size = 1e-7;
      });
    }
  }
}

void rule_of_scale(CaseRunner& runner) {
  const StepPlan bad{Holds::infinity, 0, 3};
  for (const std::int64_t good_steps : {0, 2}) {
    for (const std::int64_t interval : {3, 4, 1}) {
      checks.ask(runner, 2, [&](Problem& p) {
        p.steps = {{}, {}, bad, bad, {}, {}, {}, {}, {}, {}, {}};
        p.scale = interval == 4 ? 1 : 1024;  // and below 1
        p.dtype = DType::bfloat16;
        p.good_steps = std::min(good_steps, interval - 1);
        p.interval = interval;
      });
    }
  }
}

void too_large(CaseRunner& runner) {
  for (const int ranks : {2, 3}) {
    const StepPlan large{Holds::too_large, ranks - 1, 1};
    checks.ask(runner, ranks, [&](Problem& p) {
      p.steps = {large, large, large, {}, large, large};
      p.interval = 2;
    });
  }
  checks.ask(runner, 2, with(&Problem::steps, {{Holds::large_sum, 0, 1}, {}}));
}

void clips(CaseRunner& runner) {
  for (const int ranks : {2, 4, 1}) {
    for (const double share : {0.3, 3.0}) {
      Problem p = checks.usual(runner, ranks);
      const std::uint64_t salt = runner.draw();
      if (ranks == 1 && share < 1) p.size = 1e-7;  // the norm is as small as the 1e-6 beside it
      p.max_norm = share * first_norm(p, salt);
      if (ranks == 4 && share > 1) p.max_norm = -p.max_norm;
      play(runner, contract(), p, salt);
    }
  }
}

void clipped_and_skipped(Problem& p) {
  p.steps = {{}, {Holds::infinity, 0, 1}, {}};
  p.range = 500;
  p.max_norm = 1e-3;
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, the masters take the mean gradient, and the parameters are the "
       "masters, rounded",
       in_turn(checks.every_size(), checks.twice_in_a_subgroup())},
      {"in both types, with momentum and with Adam, updates of a ten-thousandth add up",
       small_updates},
      {"an infinity or a NaN in the gradients of one rank: all ranks skip, and nothing changes",
       overflows},
      {"a skipped step halves the scale, and `interval` good ones in a row double it",
       rule_of_scale},
      {"a gradient that is too large for float16 is skipped until the scale fits; a mean that fits "
       "is taken",
       too_large},
      {"clipping uses the norm of the unscaled mean gradient of the whole model", clips},
      {"gradients of zeros are gradients, too",
       in_turn(
           checks.on({3, 2}, with(&Problem::steps, {{Holds::zeros_on_one, 1}, {Holds::zeros}, {}})),
           checks.on({2}, with(&Problem::steps, {{Holds::zeros}, {Holds::zeros}})))},
      of_fault(
          "when a peer is lost, a rank throws CommError, and no master moves without the others",
          checks.lose_peers(4, 14, with(&Problem::steps, {{}, {Holds::infinity, 1, 2}, {}}))),
      of_cost("gradients and parameters travel once, in 16 bits",
              checks.price({2, 8, 3, 1}, check_cost, clipped_and_skipped)),
  };
}

}  // namespace lockstep::grader::mixed_precision_step
