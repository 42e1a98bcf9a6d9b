// A model as a chain of named units: each takes what the one before gives. A unit is what is
// gathered and freed as a whole where parameters are sharded, and what a pipeline deals to its
// stages; so one can be made without the others, with the numbers that it has in the whole model.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/nn/module.hpp"

namespace lockstep::nn {

struct Unit {
  std::string name;  // "embedding", "h.0", "head"; "0" of an mlp
  std::unique_ptr<Module> module;
};

// Units [first, first + count) of a model.
struct UnitRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

//   Throws  ContractError unless the range lies in [0, units)
void check_range(const UnitRange& range, std::int64_t units);

// Is told of each unit's passes, while they are made. May communicate: a unit's parameters can be
// gathered before a pass and freed after it, and its gradients reduced when they are there.
// `unit` counts from 0 in the chain.
class UnitWatch {
 public:
  virtual ~UnitWatch() = default;
  virtual void before_forward(std::size_t unit) = 0;
  virtual void after_forward(std::size_t unit) = 0;
  // In the walk back over the tape of that forward pass; not of a tape made for inference. After
  // after_backward, the unit's gradients are final, but for those of a parameter that units before
  // it use as well.
  virtual void before_backward(std::size_t unit) = 0;
  virtual void after_backward(std::size_t unit) = 0;
};

// Consecutive units of a model, as one module. All of them are the model; none at all hand on what
// they are given.
class Chain final : public Module {
 public:
  explicit Chain(std::vector<Unit> units) : units_(std::move(units)) {}

  Value forward(Tape& tape, const Value& input) override;
  void prepare(const Occasion& occasion) override;
  std::vector<Parameter*> parameters() override;
  std::vector<Buffer*> buffers() override;
  std::span<Unit> units() { return units_; }
  // From the next forward pass on. It must outlive the tapes; none: nobody is told.
  void tell(UnitWatch* watch) { watch_ = watch; }

 private:
  Value watched(std::size_t unit, Tape& tape, const Value& x);

  std::vector<Unit> units_;
  UnitWatch* watch_ = nullptr;
};

}  // namespace lockstep::nn
