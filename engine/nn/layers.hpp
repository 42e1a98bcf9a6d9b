// The layers that models are built of: each holds its parameters and is a function of a tape.
// B batch, T tokens, I inputs, O outputs, C channels, V rows of a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"

namespace lockstep::nn {

// The arguments with which a model's parameters are made.
struct Made {
  DType dtype;
  Device& device;
  std::uint64_t seed;
};

// How a weight begins: normal with this deviation; biases begin at zero.
struct Linear {
  enum class Bias : std::uint8_t { none, zero };
  Linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, double deviation,
         Bias biased, const Made& made);
  Value forward(Tape& tape, const Value& x);  // [..., I] → [..., O]
  void add_to(std::vector<Parameter*>& parameters);

  Parameter weight;               // [O, I]
  std::optional<Parameter> bias;  // [O]
};

struct Embedding {
  Embedding(const std::string& name, std::int64_t rows, std::int64_t columns, double deviation,
            const Made& made);
  Value forward(Tape& tape, const Tensor& indices);  // [...] int64 → [..., C]
  void add_to(std::vector<Parameter*>& parameters);

  Parameter weight;  // [V, C]
};

struct LayerNorm {
  LayerNorm(const std::string& name, std::int64_t columns, const Made& made);
  Value forward(Tape& tape, const Value& x);
  void add_to(std::vector<Parameter*>& parameters);

  Parameter weight, bias;  // [C], ones and zeros
};

struct RmsNorm {
  RmsNorm(const std::string& name, std::int64_t columns, const Made& made);
  Value forward(Tape& tape, const Value& x);
  void add_to(std::vector<Parameter*>& parameters);

  Parameter weight;  // [C], ones
};

// Causal attention of H heads: one projection to queries, keys and values, one back.
struct CausalSelfAttention {
  CausalSelfAttention(const std::string& name, std::int64_t width, std::int64_t heads,
                      double deviation, double deviation_out, const Made& made);
  Value forward(Tape& tape, const Value& x);  // [B, T, C] → [B, T, C]
  void add_to(std::vector<Parameter*>& parameters);

  std::int64_t heads;
  Linear c_attn;  // C → 3·C
  Linear c_proj;
};

// Two linear layers with an activation between them.
struct FeedForward {
  FeedForward(const std::string& name, std::int64_t width, std::int64_t hidden, double deviation,
              double deviation_out, const Made& made);
  Value forward(Tape& tape, const Value& x);  // [..., C] → [..., C]
  void add_to(std::vector<Parameter*>& parameters);

  ops::Activation activation = ops::Activation::gelu;
  Linear c_fc;
  Linear c_proj;
};

}  // namespace lockstep::nn
