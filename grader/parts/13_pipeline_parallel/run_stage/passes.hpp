// The judge as the device of each stage: it has the matrices of all parts, runs a pass when a stage
// asks for it, and answers after the pass's time. So it knows which passes ran, and when, and no
// stage gets what a pass makes before the pass is over.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "grader/exam/ranks/reported_service.hpp"
#include "grader/exam/schedule/chain_rules.hpp"
#include "grader/parts/13_pipeline_parallel/run_stage/problem.hpp"

namespace lockstep::grader::run_stage {

class PassService final : public TypedService<PassCall> {
 public:
  PassService(CaseRunner& runner, const Problem& p, std::uint64_t salt);

  struct Ran {
    std::vector<pipeline::Action> passes{};        // in the order in which they were asked for
    std::vector<std::vector<double>> gradients{};  // by chunk, of the matrices
    std::int64_t held_bytes_max = 0;               // as the player says
    std::optional<std::int64_t> memory_bytes_max{};
    double free_s = 0;  // a stage has one device, which runs one pass at a time
    // By chunk and micro-batch, what a pass was given.
    std::map<std::pair<int, int>, std::vector<double>> inputs{}, back{};
  };
  const Ran& of(int stage) const { return stages_[static_cast<std::size_t>(stage)]; }

 private:
  std::optional<Answer> answer(const sim::Actor& who, PassCall call, double now) override;
  std::vector<double> run(Ran& stage, int part, PassCall call) const;

  CaseRunner* runner_;  // reads the players' memory
  Problem p_;
  std::vector<Chain> chains_;  // by micro-batch
  std::vector<Ran> stages_;
};

// Names the cause of a usual slip in what the core or the engine found.
void explain(Failure& found, const Problem& p, const PassService& passes);

}  // namespace lockstep::grader::run_stage
