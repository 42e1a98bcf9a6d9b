// Cases of run_stage, and what a plan asks of a stage.
#include "grader/parts/13_pipeline_parallel/run_stage/problem.hpp"

#include <algorithm>

#include "engine/parallel/pipeline/outbox.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::run_stage {

using pipeline::Action;
using pipeline::Parcel;
using pipeline::Pass;
using pipeline::Plan;

namespace {

std::string name_of_odd(Odd odd) {
  if (odd == Odd::none) return {};
  if (odd == Odd::zeros) return ", all inputs are zeros";
  return text(odd == Odd::not_a_number ? ", a NaN" : ", an infinity", " in one micro-batch");
}

}  // namespace

std::string Problem::description() const {
  return text(schedule, ", ", plan.stages, plan.stages == 1 ? " stage" : " stages",
              plan.chunks == 1 ? "" : text(" of ", plan.chunks, " chunks"),
              members.size() < members.world ? text(" in a world of ", members.world) : "", ", ",
              plan.micro_batches, plan.micro_batches == 1 ? " micro-batch" : " micro-batches",
              fails_at < 0 ? "" : text(", the stage throws in its pass number ", fails_at + 1),
              name_of_odd(odd), dtype == DType::float64 ? "" : text(", ", name_of(dtype)),
              loss_axes == 0 ? ", a loss without dimensions" : "",
              any_sign() ? "; one weight is negative, and one is 0" : "");
}

Problem problem_of(CaseRunner& runner, Plan plan, std::string schedule) {
  Problem p{.members = whole_world(plan.stages), .plan = std::move(plan), .rows = {}};
  p.schedule = std::move(schedule);
  for (int m = 0; m < p.plan.micro_batches; ++m) {
    p.rows.push_back(static_cast<int>(runner.draw_between(1, 3)));
  }
  p.schedule_seed = runner.draw();
  return p;
}

Plan drawn_plan(std::uint64_t seed, int stages, int chunks, int micro_batches) {
  Plan plan{stages, chunks, micro_batches, {}};
  plan.actions.resize(static_cast<std::size_t>(stages));
  const int parts = stages * chunks;
  // By part and micro-batch: 0 nothing has run, 1 its forward pass, 2 its backward pass.
  std::vector<std::vector<int>> done(static_cast<std::size_t>(parts),
                                     std::vector<int>(static_cast<std::size_t>(micro_batches)));
  const auto at = [&](int part, int m) -> int& {
    return done[static_cast<std::size_t>(part)][static_cast<std::size_t>(m)];
  };
  for (std::uint64_t drawn = 0;; ++drawn) {
    std::vector<std::pair<int, int>> ready;
    for (int part = 0; part < parts; ++part) {
      for (int m = 0; m < micro_batches; ++m) {
        const bool forward = at(part, m) == 0 && (part == 0 || at(part - 1, m) >= 1);
        const bool back = at(part, m) == 1 && (part == parts - 1 || at(part + 1, m) == 2);
        if (forward || back) ready.emplace_back(part, m);
      }
    }
    if (ready.empty()) return plan;
    const auto [part, m] = ready[keyed_bits(seed, drawn) % ready.size()];
    const Pass pass = at(part, m)++ == 0 ? Pass::forward : Pass::backward;
    plan.actions[static_cast<std::size_t>(part % stages)].push_back({pass, m, part / stages});
  }
}

Plan forward_only(int stages, int chunks, int micro_batches) {
  Plan plan{stages, chunks, micro_batches, {}};
  std::vector<Action> actions;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (int m = 0; m < micro_batches; ++m) actions.push_back({Pass::forward, m, chunk});
  }
  plan.actions.assign(static_cast<std::size_t>(stages), actions);
  return plan;
}

std::vector<Chain> chains_of(const Problem& p, std::uint64_t salt) {
  std::vector<Chain> chains;
  for (std::size_t m = 0; m < p.rows.size(); ++m) {
    Chain chain =
        make_chain(keyed_bits(salt, 95'000 + m), p.plan.stages * p.plan.chunks, {p.rows[m]});
    if (p.fine_inputs) chain = with_fine_inputs(std::move(chain));
    if (p.odd == Odd::zeros || m == p.rows.size() / 2) make_odd(chain.inputs.front(), p.odd);
    chains.push_back(std::move(chain));
  }
  return chains;
}

ChainShare share_of(const Problem& p, const std::vector<Chain>& chains, int stage) {
  ChainShare share{.parts = p.plan.stages * p.plan.chunks, .width = chain_width, .rows = p.rows};
  for (int chunk = 0; chunk < p.plan.chunks; ++chunk) {
    const int part = chunk * p.plan.stages + stage;
    share.mine.push_back(part);
    for (const Chain& chain : chains) {
      if (part == 0) share.inputs.push_back(chain.inputs.front());
      if (part == share.parts - 1) share.coefficients.push_back(chain.coefficients.front());
    }
  }
  share.holds = !p.measured;
  share.dtype = p.dtype;
  share.loss_axes = p.loss_axes;
  share.filler = p.filler;
  return share;
}

Sent sent_by(const Problem& p, int stage) {
  Sent sent;
  for (const Action& action : p.plan.actions[static_cast<std::size_t>(stage)]) {
    const auto parcel = pipeline::made_by(p.plan, stage, action);
    if (!parcel || parcel->dst == stage) continue;
    ++sent.messages;
    sent.bytes += p.rows[static_cast<std::size_t>(action.micro_batch)] * chain_width * p.filler *
                  static_cast<std::int64_t>(bytes_of(p.dtype));
  }
  return sent;
}

int tensors_held(const Plan& plan, int stage) {
  const auto& actions = plan.actions[static_cast<std::size_t>(stage)];
  const auto travels = [&](const std::optional<Parcel>& parcel) {
    return parcel && parcel->src != parcel->dst;
  };
  std::vector<Parcel> sent;
  int handed_over = 0, most = 0;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    const auto needed = pipeline::needed_by(plan, stage, actions[k]);
    int held = needed ? 1 : 0;
    if (travels(needed)) {
      std::erase_if(sent, [&](const Parcel& one) {
        return one.dst == needed->src && one.needed_at <= needed->made_at;
      });
    } else if (needed) {
      --handed_over;
    }
    if (k + 1 < actions.size() && travels(pipeline::needed_by(plan, stage, actions[k + 1]))) ++held;
    most = std::max(most, held + handed_over + static_cast<int>(sent.size()));
    const auto made = pipeline::made_by(plan, stage, actions[k]);
    if (travels(made)) {
      sent.push_back(*made);
    } else if (made) {
      ++handed_over;
    }
  }
  return most;
}

std::vector<double> weights_of(const Problem& p, std::uint64_t salt) {
  std::vector<double> weights = make_weights(salt, p.plan.micro_batches);
  for (double& weight : weights) weight += p.beside;
  if (p.without_weight >= 0) weights[static_cast<std::size_t>(p.without_weight)] = 0;
  if (!p.any_sign()) return weights;
  const std::size_t m = weights.size(), negative = keyed_bits(salt, 91'000) % m;
  const std::size_t nothing = (negative + 1 + keyed_bits(salt, 91'001) % (m - 1)) % m;
  weights[negative] = -weights[negative];
  weights[nothing] = 0;
  return weights;
}

}  // namespace lockstep::grader::run_stage
