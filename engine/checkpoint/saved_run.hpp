// A checkpoint that is read: what it says of itself, and its tensors, each when it is asked for. A
// rank that keeps a part of a run reads that part of what many wrote, or one.
#pragma once

#include <functional>
#include <string>

#include "engine/checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {

class SavedRun {
 public:
  //   Throws  CheckpointError when a file is missing, damaged, or says what no run could write
  explicit SavedRun(const std::filesystem::path& checkpoint);

  const TrainState& state() const { return state_; }
  const SafetensorsFile& weights() const { return weights_; }
  const SafetensorsFile& optimizer() const { return optimizer_; }

  // All of it, into a model and an optimizer over its parameters. As load (checkpoint.hpp).
  void load(nn::Module& model, optim::Optimizer& optimizer) const;
  // The same where `model` is a part of the saved one, or `optimizer` is over some of its
  // parameters only: what belongs to others is left in the files.
  void load_part(nn::Module& model, optim::Optimizer& optimizer) const;

  //   Throws  CheckpointError when the saved optimizer is of another kind
  void check_optimizer(std::string_view kind) const;

 private:
  void load_optimizer(optim::Optimizer& optimizer,
                      const std::function<bool(const std::string& name)>& wanted) const;

  TrainState state_;
  SafetensorsFile weights_, optimizer_;
};

}  // namespace lockstep::checkpoint
