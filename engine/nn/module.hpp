// A module: parameters, buffers and a forward function of a tape.
#pragma once

#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/nn/key_value_cache.hpp"

namespace lockstep::nn {

// State that is not trained but belongs to the model (running statistics, counters).
struct Buffer {
  std::string name;
  Tensor value;
};

// Dropout acts in training only. A new model is in training, as PyTorch's are.
enum class Mode : std::uint8_t { training, evaluation };

// The occasion of the passes that come next. Random numbers are counted from these, so that they
// depend on the run, the step and the sample, and not on the rank that has it: sample i of a batch
// is number first_sample + i · sample_stride of the global batch.
struct Occasion {
  Mode mode = Mode::evaluation;
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t first_sample = 0;
  std::int64_t sample_stride = 1;
  // The share of these samples in the loss of the step, with which a loss inside the model enters
  // the gradient.
  double weight = 1;
  // The factor of the whole gradient (optim/loss_scaler.hpp).
  double loss_scale = 1;
  // Set for passes that extend one sample, token by token: each is over the tokens behind those
  // that the cache holds. It must live until prepare() is called with another.
  KeyValueCache* cache = nullptr;
};

class Module {
 public:
  virtual ~Module() = default;
  virtual Value forward(Tape& tape, const Value& input) = 0;
  // Said before each pass of another kind or step; a module without dropout does not listen.
  virtual void prepare(const Occasion& occasion) { static_cast<void>(occasion); }
  // In order of registration, the same on every rank. Pointers stay valid as long as the module.
  virtual std::vector<Parameter*> parameters() = 0;
  virtual std::vector<Buffer*> buffers() { return {}; }
};

std::int64_t count_of(Module& module);  // elements of all parameters

// A 64-bit hash of all parameters' bits: equal hashes on all ranks = equal replicas.
std::uint64_t hash_of(Module& module);

}  // namespace lockstep::nn
