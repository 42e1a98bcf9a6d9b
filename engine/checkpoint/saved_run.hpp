// A checkpoint that is read: what it says of itself, and its tensors, each when it is asked for. A
// rank that keeps a part of a run reads that part of what many wrote, or one.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/saved_tensors.hpp"
#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {

class SavedRun {
 public:
  // Looks whether all files are there, and as long as they were.
  //   storage  must outlive this object
  //   Throws   CheckpointError when a file is missing, damaged, or says what no run could write
  SavedRun(const Storage& storage, const std::string& checkpoint);
  explicit SavedRun(const std::filesystem::path& checkpoint);
  ~SavedRun();

  const TrainState& state() const { return state_; }
  const SavedTensors& weights() const { return *weights_; }
  const SavedTensors& optimizer() const { return *optimizer_; }

  // All of it, into a model and an optimizer over its parameters. As load (checkpoint.hpp).
  void load(nn::Module& model, optim::Optimizer& optimizer) const;
  // The same where `model` is a part of the saved one, or `optimizer` is over some of its
  // parameters only: what belongs to others is left in the files.
  void load_part(nn::Module& model, optim::Optimizer& optimizer) const;

  //   Throws  CheckpointError when the saved optimizer is of another kind
  void check_optimizer(std::string_view kind) const;

 private:
  void open(const Storage& storage, const std::string& checkpoint);
  void load_optimizer(optim::Optimizer& optimizer,
                      const std::function<bool(const std::string& name)>& wanted) const;

  std::unique_ptr<Storage> own_;
  TrainState state_;
  std::unique_ptr<SavedTensors> weights_, optimizer_;
};

}  // namespace lockstep::checkpoint
