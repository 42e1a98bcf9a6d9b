// Plays run_stage: one stage of a chain of matrices. The matrices are the judge's, which runs each
// pass when it is asked to, and takes the pass's time for it.
#include "engine/parallel/pipeline/run_stage.hpp"

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

// The judge, which runs the passes, at this end of the line.
class ServedPasses final : public ChainComputer {
 public:
  ServedPasses(const StageCase& c, Device& device, sim::Port& port)
      : case_(c), device_(device), port_(port) {}

  // The next backward pass is of this kind.
  void goes_back_by(Pass kind) { kind_ = kind; }

  std::vector<double> forward(std::size_t which, int micro_batch,
                              const std::vector<double>& x) override {
    return run(Pass::forward, which, micro_batch, x);
  }
  std::vector<double> back(std::size_t which, int micro_batch,
                           const std::vector<double>& gradient) override {
    return run(kind_, which, micro_batch, gradient);
  }
  void weights(std::size_t which, int micro_batch) override {
    if (kind_ == Pass::backward) return;  // the same pass makes them
    run(Pass::weight_gradient, which, micro_batch, {});
  }

 private:
  std::vector<double> run(Pass pass, std::size_t which, int micro_batch,
                          const std::vector<double>& numbers) {
    const PassCall call{{pass, micro_batch, static_cast<int>(which)},
                        numbers,
                        device_.bytes_now(MemoryKind::activations)};
    auto made = ask<PassAnswer>(port_, call).numbers;
    if (++passes_ == case_.fails_at + 1) throw StageBroke();
    return made;
  }

  const StageCase& case_;
  Device& device_;
  sim::Port& port_;
  Pass kind_ = Pass::backward;
  int passes_ = 0;
};

class ChainStage final : public pipeline::Stage {
 public:
  ChainStage(const StageCase& c, Device& device, sim::Port& port)
      : case_(c), passes_(c, device, port), chain_(c.share, device, "part", &passes_) {}

  int chunks() const override { return case_.plan.chunks; }
  Tensor make_input(const PassOf& pass) override {
    return chain_.room_before(chunk_of(pass), pass.micro_batch);
  }
  Tensor make_gradient(const PassOf& pass) override {
    return chain_.room_after(chunk_of(pass), pass.micro_batch);
  }

  Tensor forward(const PassOf& pass, const Tensor& input) override {
    return chain_.forward(chunk_of(pass), pass.micro_batch, input);
  }
  Tensor backward(const PassOf& pass, const Tensor& gradient) override {
    passes_.goes_back_by(Pass::backward);
    Tensor to_input = chain_.input_gradient(chunk_of(pass), pass.micro_batch, gradient);
    chain_.weight_gradient(chunk_of(pass), pass.micro_batch);
    return to_input;
  }
  Tensor input_gradient(const PassOf& pass, const Tensor& gradient) override {
    passes_.goes_back_by(Pass::input_gradient);
    return chain_.input_gradient(chunk_of(pass), pass.micro_batch, gradient);
  }
  void weight_gradient(const PassOf& pass) override {
    passes_.goes_back_by(Pass::input_gradient);
    chain_.weight_gradient(chunk_of(pass), pass.micro_batch);
  }

 private:
  std::size_t chunk_of(const PassOf& pass) const {
    const bool known = pass.chunk >= 0 && pass.chunk < case_.plan.chunks && pass.micro_batch >= 0 &&
                       pass.micro_batch < case_.plan.micro_batches;
    LOCKSTEP_CHECK(known, "there is no micro-batch ", pass.micro_batch, " or no chunk ", pass.chunk,
                   " of this stage");
    return static_cast<std::size_t>(pass.chunk);
  }

  const StageCase& case_;
  ServedPasses passes_;
  HeldChain chain_;
};

StageReport be_a_stage(comm::ProcessGroup& group, const StageCase& c, Device& device,
                       sim::Port& port) {
  StageReport report;
  ChainStage stage(c, device, port);
  pipeline::StageResult result;
  try {
    result = pipeline::run_stage(group, stage, c.plan, c.weights);
  } catch (const StageBroke&) {
    report.threw = true;
  }
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
