// Plays run_stage: one stage of a chain of matrices, whose passes take the time that the judge
// says, and which notes what it was asked for.
#include "engine/parallel/pipeline/run_stage.hpp"

#include <algorithm>
#include <stdexcept>

#include "grader/parts/13_pipeline_parallel/run_stage/case.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

using pipeline::Pass;
using pipeline::PassOf;

struct StageBroke : std::runtime_error {
  StageBroke() : std::runtime_error("the stage broke") {}
};

class ChainStage final : public pipeline::Stage {
 public:
  ChainStage(const StageCase& c, Device& device, sim::Port& port, StageReport& report)
      : case_(c), device_(device), port_(port), report_(report), chain_(c.share, device) {}

  int chunks() const override { return case_.plan.chunks; }
  Tensor make_input(const PassOf& pass) override {
    return chain_.room_before(chunk_of(pass), pass.micro_batch);
  }
  Tensor make_gradient(const PassOf& pass) override {
    return chain_.room_after(chunk_of(pass), pass.micro_batch);
  }

  Tensor forward(const PassOf& pass, const Tensor& input) override {
    begin(Pass::forward, pass);
    return chain_.forward(chunk_of(pass), pass.micro_batch, input);
  }
  Tensor backward(const PassOf& pass, const Tensor& gradient) override {
    begin(Pass::backward, pass);
    Tensor to_input = chain_.input_gradient(chunk_of(pass), pass.micro_batch, gradient);
    chain_.weight_gradient(chunk_of(pass), pass.micro_batch);
    return to_input;
  }
  Tensor input_gradient(const PassOf& pass, const Tensor& gradient) override {
    begin(Pass::input_gradient, pass);
    return chain_.input_gradient(chunk_of(pass), pass.micro_batch, gradient);
  }
  void weight_gradient(const PassOf& pass) override {
    begin(Pass::weight_gradient, pass);
    chain_.weight_gradient(chunk_of(pass), pass.micro_batch);
  }

  const HeldChain& chain() const { return chain_; }

 private:
  static std::size_t chunk_of(const PassOf& pass) { return static_cast<std::size_t>(pass.chunk); }

  void begin(Pass kind, const PassOf& pass) {
    const bool known = pass.chunk >= 0 && pass.chunk < case_.plan.chunks && pass.micro_batch >= 0 &&
                       pass.micro_batch < case_.plan.micro_batches;
    LOCKSTEP_CHECK(known, "there is no micro-batch ", pass.micro_batch, " or no chunk ", pass.chunk,
                   " of this stage");
    report_.passes.push_back({kind, pass.micro_batch, pass.chunk});
    report_.held_bytes_max =
        std::max(report_.held_bytes_max, device_.bytes_now(MemoryKind::activations));
    pass_time(port_, pipeline::cost_of(case_.costs, kind));
    if (std::ssize(report_.passes) == case_.fails_at + 1) throw StageBroke();
  }

  const StageCase& case_;
  Device& device_;
  sim::Port& port_;
  StageReport& report_;
  HeldChain chain_;
};

StageReport be_a_stage(comm::ProcessGroup& group, const StageCase& c, Device& device,
                       sim::Port& port) {
  StageReport report;
  ChainStage stage(c, device, port, report);
  pipeline::StageResult result;
  try {
    result = pipeline::run_stage(group, stage, c.plan, c.weights);
  } catch (const StageBroke&) {
    report.threw = true;
  }
  report.gradients = stage.chain().gradients();
  if (result.loss.defined()) {
    for (std::int64_t i = 0; i < result.loss.numel(); ++i) {
      report.loss.push_back(result.loss.item(i));
    }
  }
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_in_group<StageCase>(played, be_a_stage); }

}  // namespace lockstep::grader
