#include "grader/parts/13_pipeline_parallel/run_stage/passes.hpp"

#include <algorithm>

namespace lockstep::grader::run_stage {
namespace {

using pipeline::Pass;

}  // namespace

PassService::PassService(CaseRunner& runner, const Problem& p, std::uint64_t salt)
    : runner_(&runner), p_(p), chains_(chains_of(p, salt)) {
  const std::vector<double> nothing(static_cast<std::size_t>(chain_width) * chain_width);
  const auto chunks = static_cast<std::size_t>(p.plan.chunks);
  stages_.resize(static_cast<std::size_t>(p.plan.stages));
  for (Ran& stage : stages_) stage.gradients.assign(chunks, nothing);
}

std::optional<sim::Service::Answer> PassService::answer(const sim::Actor& who, PassCall call,
                                                        double now) {
  const auto& [pass, micro_batch, chunk] = call.action;
  const bool known = p_.members.contain(who.rank) && pass <= Pass::weight_gradient &&
                     micro_batch >= 0 && micro_batch < p_.plan.micro_batches && chunk >= 0 &&
                     chunk < p_.plan.chunks;
  if (!known) throw Error("there is no such pass");
  const int number = p_.members.group_rank(who.rank);
  Ran& stage = stages_[static_cast<std::size_t>(number)];
  stage.passes.push_back(call.action);
  stage.held_bytes_max = std::max(stage.held_bytes_max, call.held_bytes);
  if (p_.measured) {
    stage.memory_bytes_max = std::max(stage.memory_bytes_max, runner_->memory_bytes(who.rank));
  }
  stage.free_s = std::max(stage.free_s, now) + pipeline::cost_of(p_.costs, pass);
  const int part = chunk * p_.plan.stages + number;
  return answer_with(PassAnswer{run(stage, part, std::move(call))}, stage.free_s);
}

std::vector<double> PassService::run(Ran& stage, int part, PassCall call) const {
  const auto [pass, micro_batch, chunk] = call.action;
  const std::pair<int, int> at{chunk, micro_batch};
  const Chain& chain = chains_[static_cast<std::size_t>(micro_batch)];
  const auto& matrix = chain.matrices[static_cast<std::size_t>(part)];
  if (pass != Pass::weight_gradient && call.numbers.size() != chain.inputs.front().size()) {
    throw Error(text("a pass of micro-batch ", micro_batch, " was given ", call.numbers.size(),
                     " numbers, not ", chain.inputs.front().size()));
  }
  if (pass == Pass::forward) {
    auto made = times(call.numbers, matrix, chain_width);
    stage.inputs[at] = std::move(call.numbers);
    return made;
  }
  if (!stage.inputs.contains(at)) throw Error("a backward pass without its forward pass");
  if (pass == Pass::weight_gradient) {
    if (!stage.back.contains(at)) throw Error("a weight gradient without its input gradient");
  } else {
    stage.back[at] = std::move(call.numbers);
  }
  if (pass != Pass::input_gradient) {
    add_product(stage.gradients[static_cast<std::size_t>(chunk)], stage.inputs[at], stage.back[at]);
  }
  if (pass == Pass::weight_gradient) return {};
  return times(stage.back[at], transposed(matrix, chain_width), chain_width);
}

}  // namespace lockstep::grader::run_stage
