// A stage that holds units of a model: what run_stage needs of it, on a tape for every micro-batch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/pipeline/run_stage.hpp"
#include "engine/parallel/pipeline/unit_profiles.hpp"

namespace lockstep::pipeline {

// Which parts of a model a stage has: chunk c is part c·p + s.
struct StagePlace {
  int stage = 0;   // s
  int stages = 1;  // p
  int chunks = 1;  // v
};

class ModelStage final : public Stage {
 public:
  //   spec, seed  of the whole model, of which the stage makes its own units only, with the numbers
  //               that they have there
  //   device      must outlive the stage
  //   Throws      UsageError when there are more parts than units
  ModelStage(const nn::ModelSpec& spec, const StagePlace& place, Device& device,
             std::uint64_t seed);

  // The stage's parameters and buffers, chunk by chunk. Not to be run.
  nn::Module& module() { return *module_; }
  const std::vector<nn::UnitRange>& cuts() const { return cuts_; }  // of all parts

  // Sets the arguments of the passes of a training step or an evaluation. Called before run_stage.
  //   micro_batches  m, the same on every stage; must outlive the passes
  //   occasion       of the first micro-batch's first sample
  //   weights        of each micro-batch in the loss of the step; none: 1
  void begin(std::span<const data::Batch> micro_batches, const nn::Occasion& occasion,
             std::span<const double> weights = {});
  // Told what the stage does: a pass, or (nothing) that it waits.
  void tell(std::function<void(const Action*)> told) { told_ = std::move(told); }
  // The hits of an evaluation: on the stage with the last part, the labels that were met since
  // begin().
  std::int64_t hits() const { return hits_; }

  int chunks() const override { return place_.chunks; }
  Tensor make_input(const PassOf& pass) override;
  Tensor make_gradient(const PassOf& pass) override;
  Tensor forward(const PassOf& pass, const Tensor& input) override;
  Tensor backward(const PassOf& pass, const Tensor& gradient) override;
  Tensor input_gradient(const PassOf& pass, const Tensor& gradient) override;
  void weight_gradient(const PassOf& pass) override;

 private:
  // The state that a forward pass leaves for the backward pass.
  struct Kept {
    std::unique_ptr<Tape> tape;
    Value input, output;
  };
  struct Doing;  // tells of a pass as long as it lives

  int part_of(const PassOf& pass) const { return pass.chunk * place_.stages + place_.stage; }
  bool begins(const PassOf& pass) const { return part_of(pass) == 0; }
  bool ends(const PassOf& pass) const { return part_of(pass) == place_.stages * place_.chunks - 1; }
  const data::Batch& batch_of(const PassOf& pass) const {
    return micro_batches_[static_cast<std::size_t>(pass.micro_batch)];
  }
  // The output of part `part` for this micro-batch, uninitialised.
  Tensor made_by(int part, const PassOf& pass) const;
  Kept& kept(const PassOf& pass, const char* why);

  StagePlace place_;
  Device& device_;
  std::vector<UnitProfile> units_;
  std::vector<nn::UnitRange> cuts_;
  std::vector<std::unique_ptr<nn::Chain>> chunks_;
  std::unique_ptr<nn::Module> module_;

  std::span<const data::Batch> micro_batches_;
  std::vector<nn::Occasion> occasions_;       // of each micro-batch
  std::map<std::pair<int, int>, Kept> kept_;  // by chunk and micro-batch
  std::int64_t hits_ = 0;
  std::function<void(const Action*)> told_;
};

}  // namespace lockstep::pipeline
