#include "engine/parallel/pipeline/model_stage.hpp"

#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::pipeline {
namespace {

// The parameters and buffers of all chunks, as one list.
class AllChunks final : public nn::Module {
 public:
  explicit AllChunks(const std::vector<std::unique_ptr<nn::Chain>>& chunks) : chunks_(chunks) {}

  Value forward(Tape&, const Value&) override {
    throw ContractError(
        "pipeline: a stage's chunks are not run one after the other; run_stage does");
  }
  void prepare(const nn::Occasion& occasion) override {
    for (const auto& chunk : chunks_) chunk->prepare(occasion);
  }
  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    for (const auto& chunk : chunks_) {
      const auto of_chunk = chunk->parameters();
      all.insert(all.end(), of_chunk.begin(), of_chunk.end());
    }
    return all;
  }
  std::vector<nn::Buffer*> buffers() override {
    std::vector<nn::Buffer*> all;
    for (const auto& chunk : chunks_) {
      const auto of_chunk = chunk->buffers();
      all.insert(all.end(), of_chunk.begin(), of_chunk.end());
    }
    return all;
  }

 private:
  const std::vector<std::unique_ptr<nn::Chain>>& chunks_;
};

}  // namespace

struct ModelStage::Doing {
  Doing(const ModelStage& stage, Pass pass, const PassOf& of)
      : told(stage.told_), action{pass, of.micro_batch, of.chunk} {
    if (told) told(&action);
  }
  ~Doing() {
    if (told) told(nullptr);
  }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  const std::function<void(const Action*)>& told;
  Action action;
};

ModelStage::ModelStage(const nn::ModelSpec& spec, const StagePlace& place, Device& device,
                       std::uint64_t seed)
    : place_(place),
      device_(device),
      units_(profile_units(spec)),
      cuts_(cut(units_, place.stages * place.chunks)) {
  for (int chunk = 0; chunk < place.chunks; ++chunk) {
    const nn::UnitRange mine = cuts_[static_cast<std::size_t>(part_of({chunk, 0}))];
    chunks_.push_back(nn::make_units(spec, device, seed, mine));
  }
  module_ = std::make_unique<AllChunks>(chunks_);
}

void ModelStage::begin(std::span<const data::Batch> micro_batches, const nn::Occasion& occasion,
                       std::span<const double> weights) {
  micro_batches_ = micro_batches;
  kept_.clear();
  hits_ = 0;
  occasions_.clear();
  nn::Occasion next = occasion;
  for (const data::Batch& batch : micro_batches) {
    if (!weights.empty()) next.weight = weights[occasions_.size()];
    occasions_.push_back(next);
    next.first_sample += batch.inputs.size(0) * next.sample_stride;
  }
}

Tensor ModelStage::made_by(int part, const PassOf& pass) const {
  const nn::UnitRange range = cuts_[static_cast<std::size_t>(part)];
  const UnitProfile& last = units_[static_cast<std::size_t>(range.first + range.count - 1)];
  Shape shape = last.output;
  shape.front() = batch_of(pass).inputs.size(0);
  return empty(shape, last.dtype, device_, MemoryKind::activations);
}

Tensor ModelStage::make_input(const PassOf& pass) { return made_by(part_of(pass) - 1, pass); }
Tensor ModelStage::make_gradient(const PassOf& pass) { return made_by(part_of(pass), pass); }

Tensor ModelStage::forward(const PassOf& pass, const Tensor& input) {
  const Doing doing(*this, Pass::forward, pass);
  const nn::Occasion& occasion = occasions_[static_cast<std::size_t>(pass.micro_batch)];
  const data::Batch& batch = batch_of(pass);
  nn::Chain& chunk = *chunks_[static_cast<std::size_t>(pass.chunk)];
  const bool trains = occasion.mode == nn::Mode::training;
  auto tape = std::make_unique<Tape>(trains ? GradMode::record : GradMode::inference);
  chunk.prepare(occasion);
  const Value in = begins(pass) ? tape->constant(batch.inputs) : tape->input(input);
  Value out = chunk.forward(*tape, in);
  if (ends(pass)) {
    if (!trains && device_.has_numbers()) hits_ += ops::count_correct(out.tensor, batch.labels);
    out = autograd::cross_entropy(*tape, out, batch.labels);
  }
  Tensor made = out.tensor;
  if (trains) {
    kept_[{pass.chunk, pass.micro_batch}] = {std::move(tape), in, std::move(out)};
  }
  return made;
}

ModelStage::Kept& ModelStage::kept(const PassOf& pass, const char* why) {
  const auto at = kept_.find({pass.chunk, pass.micro_batch});
  LOCKSTEP_CHECK(at != kept_.end(), "pipeline: stage ", place_.stage, " has nothing for the ", why,
                 " of micro-batch ", pass.micro_batch, " through chunk ", pass.chunk,
                 ": its forward pass did not come before, or it was freed already");
  return at->second;
}

Tensor ModelStage::backward(const PassOf& pass, const Tensor& gradient) {
  const Doing doing(*this, Pass::backward, pass);
  Kept& of_pass = kept(pass, "backward pass");
  of_pass.tape->backward(of_pass.output, gradient);
  Tensor to_input = begins(pass) ? Tensor() : of_pass.tape->gradient_of(of_pass.input);
  kept_.erase({pass.chunk, pass.micro_batch});
  return to_input;
}

Tensor ModelStage::input_gradient(const PassOf& pass, const Tensor& gradient) {
  const Doing doing(*this, Pass::input_gradient, pass);
  Kept& of_pass = kept(pass, "input's gradient");
  of_pass.tape->backward_inputs(of_pass.output, gradient);
  of_pass.output = {};
  return begins(pass) ? Tensor() : of_pass.tape->gradient_of(of_pass.input);
}

void ModelStage::weight_gradient(const PassOf& pass) {
  const Doing doing(*this, Pass::weight_gradient, pass);
  kept(pass, "weights' gradient").tape->backward_weights();
  kept_.erase({pass.chunk, pass.micro_batch});
}

}  // namespace lockstep::pipeline
