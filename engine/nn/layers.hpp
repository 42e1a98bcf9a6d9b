// The layers that models are built of, whole on one rank: each holds its parameters and is a
// function of a tape. A GPT's come from a maker (layer_maker.hpp), whose own are these.
// B batch, T tokens, I inputs, O outputs, C channels.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/nn/module.hpp"

namespace lockstep::nn {

// The arguments with which a model's parameters are made.
struct Made {
  DType dtype;
  Device& device;
  std::uint64_t seed;
};

// A weight begins normal with a deviation, in its stream (initialise.hpp).
Parameter normal_parameter(const std::string& name, Shape shape, double deviation,
                           const Made& made);

// Biases begin at zero.
struct Linear {
  enum class Bias : std::uint8_t { none, zero };
  Linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, double deviation,
         Bias biased, const Made& made);
  Value forward(Tape& tape, const Value& x);  // [..., I] → [..., O]
  void add_to(std::vector<Parameter*>& parameters);

  Parameter weight;               // [O, I]
  std::optional<Parameter> bias;  // [O]
};

struct LayerNorm final : Module {
  LayerNorm(const std::string& name, std::int64_t columns, const Made& made);
  Value forward(Tape& tape, const Value& x) override;
  std::vector<Parameter*> parameters() override;

  Parameter weight, bias;  // [C], ones and zeros
};

struct RmsNorm final : Module {
  RmsNorm(const std::string& name, std::int64_t columns, const Made& made);
  Value forward(Tape& tape, const Value& x) override;
  std::vector<Parameter*> parameters() override;

  Parameter weight;  // [C], ones
};

// Those of a layer's weights, and of its last weight, which ends a residual branch.
struct Deviations {
  double weights = 0;
  double last = 0;
};

// Causal attention of a rank's tokens to all that are no later: queries, keys and values [B, T,
// 3·C] of `heads` heads → [B, T, C].
using Attend = std::function<Value(Tape& tape, const Value& qkv, std::int64_t heads)>;

// Causal attention of H heads: one projection to queries, keys and values, one back.
struct CausalSelfAttention final : Module {
  //   attend  between the projections; none: the rank has all tokens
  CausalSelfAttention(const std::string& name, std::int64_t width, std::int64_t heads,
                      const Deviations& deviations, const Made& made, Attend attend = nullptr);
  // [B, T, C] → [B, T, C]. With a cache, on a tape for inference, tokens see what it holds, too.
  Value forward(Tape& tape, const Value& x) override;
  void prepare(const Occasion& occasion) override { cache = occasion.cache; }
  std::vector<Parameter*> parameters() override;

  KeyValueCache* cache = nullptr;
  std::int64_t heads;
  Attend attend;
  Linear c_attn;  // C → 3·C
  Linear c_proj;
};

// Two linear layers with an activation between them.
struct FeedForward final : Module {
  FeedForward(const std::string& name, std::int64_t width, std::int64_t hidden,
              const Deviations& deviations, const Made& made);
  Value forward(Tape& tape, const Value& x) override;  // [..., C] → [..., C]
  std::vector<Parameter*> parameters() override;

  ops::Activation activation = ops::Activation::gelu;
  Linear c_fc;
  Linear c_proj;
};

}  // namespace lockstep::nn
