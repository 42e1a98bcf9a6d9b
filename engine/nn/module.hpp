// A module: parameters, buffers and a forward function of a tape.
#pragma once

#include <string>
#include <vector>

#include "engine/autograd/tape.hpp"

namespace lockstep::nn {

// State that is not trained but belongs to the model (running statistics, counters).
struct Buffer {
  std::string name;
  Tensor value;
};

class Module {
 public:
  virtual ~Module() = default;
  virtual Value forward(Tape& tape, const Value& input) = 0;
  // In order of registration, the same on every rank. Pointers stay valid as long as the module.
  virtual std::vector<Parameter*> parameters() = 0;
  virtual std::vector<Buffer*> buffers() { return {}; }
};

std::int64_t count_of(Module& module);  // elements of all parameters

// A 64-bit hash of all parameters' bits: equal hashes on all ranks = equal replicas.
std::uint64_t hash_of(Module& module);

}  // namespace lockstep::nn
