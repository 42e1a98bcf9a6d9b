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

 private:
  std::vector<Unit> units_;
};

}  // namespace lockstep::nn
