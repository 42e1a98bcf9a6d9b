// The problem of a case of run_stage, and the judge's own way through a plan.
#pragma once

#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/pipeline/timeline.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/exam/schedule/chain_rules.hpp"
#include "grader/parts/13_pipeline_parallel/run_stage/case.hpp"

namespace lockstep::grader::run_stage {

struct Problem {
  Members members;
  pipeline::Plan plan;
  std::string schedule{};  // "1F1B", for a person
  pipeline::PassCosts costs{20e-6, 40e-6, 20e-6, 20e-6};
  std::vector<int> rows{};   // of each micro-batch
  double beside = 0;         // added to each weight
  int without_weight = -1;   // the micro-batch whose weight is 0; -1: none
  bool fine_inputs = false;  // whether the model's inputs are numbers that no float32 holds
  bool measured = false;     // whether memory is counted, so that the stage keeps none itself
  Odd odd = Odd::none;       // zeros: of every micro-batch; otherwise one number of the middle one
  DType dtype = DType::float64;
  int loss_axes = 1;  // of a loss: 1 or 0
  int filler = 1;     // as in ChainShare
  int fails_at = -1;  // the number of the pass in which the stage throws; -1: none
  std::uint64_t schedule_seed = 0;

  // True if one weight is negative and another 0.
  bool any_sign() const { return plan.micro_batches > 3 && without_weight < 0; }
  std::string description() const;
};

// A problem with all stages of the plan, and micro-batches of 1 to 3 rows.
Problem problem_of(CaseRunner& runner, pipeline::Plan plan, std::string schedule);

// A plan of another order on every stage, which can be carried out: passes are drawn from those
// that can come next.
pipeline::Plan drawn_plan(std::uint64_t seed, int stages, int chunks, int micro_batches);
// Forward passes alone, as in an evaluation.
pipeline::Plan forward_only(int stages, int chunks, int micro_batches);

// By micro-batch: each has matrices of its own, as if noise were added to those of the model, so
// that no pass shows what the next one makes.
std::vector<Chain> chains_of(const Problem& p, std::uint64_t salt);
// The share of a stage, without its matrices.
ChainShare share_of(const Problem& p, const std::vector<Chain>& chains, int stage);

// A message that a stage sends by the plan.
struct Sent {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};
Sent sent_by(const Problem& p, int stage);

// The most tensors in the hands of the part when a pass begins, by the contract's "Memory".
int tensors_held(const pipeline::Plan& plan, int stage);

// The weights of the micro-batches, at which their backward passes begin.
std::vector<double> weights_of(const Problem& p, std::uint64_t salt);

class PassService;

// Compares gradients and losses, rank by rank.
void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<StageReport>& reports, const PassService& passes);

}  // namespace lockstep::grader::run_stage
