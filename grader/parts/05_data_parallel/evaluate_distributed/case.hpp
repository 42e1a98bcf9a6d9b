// The case format of evaluate_distributed, shared by adapter and exam, and the model that is
// evaluated.
#pragma once

#include <memory>
#include <vector>

#include "engine/nn/mlp.hpp"
#include "grader/play/part.hpp"
#include "grader/play/served_dataset.hpp"

namespace lockstep::grader {

struct EvaluateCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  DatasetShape dataset{};
  std::vector<std::uint64_t> model_seeds{};  // one evaluation each, of a model of its own
};

// A rank's report on one evaluation.
struct EvaluateResult {
  double loss = 0, accuracy = 0;
  std::uint64_t model_hash = 0;  // afterwards
  bool recorded = false;         // a pass was recorded for backward, or a gradient was made
  bool left_training = false;    // the model was left prepared for training
};

template <typename Archive>
void fields(Archive& archive, EvaluateCase& c) {
  archive(c.group, c.peer, c.dtype, c.dataset, c.model_seeds);
}
template <typename Archive>
void fields(Archive& archive, EvaluateResult& result) {
  archive(result.loss, result.accuracy, result.model_hash, result.recorded, result.left_training);
}

// A model that says something else while it is prepared for training, as one with dropout does: it
// then leaves out the first of its inputs. It begins prepared for training.
class MoodyModel final : public nn::Module {
 public:
  MoodyModel(const DatasetShape& shape, DType dtype, Device& device, std::uint64_t seed)
      : shape_(shape) {
    const std::vector<std::int64_t> widths{shape.inputs, 8, shape.labels * shape.classes};
    mlp_ = nn::make_mlp(widths, dtype, device, seed);
    kept_ = full({shape.inputs}, 1, dtype, device);
    kept_.narrow(0, 1).scale_(0);
  }

  Value forward(Tape& tape, const Value& input) override {
    recorded_ = recorded_ || tape.mode() == GradMode::record;
    passed_ = true;
    const std::int64_t samples = input.tensor.size(0);
    const bool drops = mode_ == nn::Mode::training;
    const Value kept = drops ? autograd::multiply(tape, input, tape.constant(kept_)) : input;
    const Value logits = mlp_->forward(tape, kept);
    if (shape_.labels == 1) return logits;
    return autograd::view(tape, logits, {samples, shape_.labels, shape_.classes});
  }
  void prepare(const nn::Occasion& occasion) override { mode_ = occasion.mode; }
  std::vector<Parameter*> parameters() override { return mlp_->parameters(); }

  // A rank that has no sample has nothing to prepare for.
  bool left_training() const { return passed_ && mode_ == nn::Mode::training; }
  bool recorded() const { return recorded_; }

 private:
  DatasetShape shape_;
  std::unique_ptr<nn::Module> mlp_;
  Tensor kept_;  // 1 for each input that training keeps, 0 for the one it drops
  nn::Mode mode_ = nn::Mode::training;
  bool recorded_ = false;
  bool passed_ = false;  // forward was called
};

}  // namespace lockstep::grader
