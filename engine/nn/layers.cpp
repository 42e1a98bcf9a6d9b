#include "engine/nn/layers.hpp"

#include "engine/nn/initialise.hpp"

namespace lockstep::nn {
namespace {

Parameter normal_parameter(const std::string& name, Shape shape, double deviation,
                           const Made& made) {
  return {name,
          normal(std::move(shape), deviation, stream_of(made.seed, name), made.dtype, made.device),
          {},
          {}};
}

Parameter constant_parameter(const std::string& name, std::int64_t count, double value,
                             const Made& made) {
  return {name, constant({count}, value, made.dtype, made.device), {}, {}};
}

}  // namespace

Linear::Linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, double deviation,
               Bias biased, const Made& made)
    : weight(normal_parameter(name + ".weight", {outputs, inputs}, deviation, made)) {
  if (biased == Bias::zero) bias = constant_parameter(name + ".bias", outputs, 0, made);
}

Value Linear::forward(Tape& tape, const Value& x) {
  if (!bias) return autograd::linear(tape, x, tape.leaf(weight));
  const Value w = tape.leaf(weight);
  return autograd::linear(tape, x, w, tape.leaf(*bias));
}

void Linear::add_to(std::vector<Parameter*>& parameters) {
  parameters.push_back(&weight);
  if (bias) parameters.push_back(&*bias);
}

Embedding::Embedding(const std::string& name, std::int64_t rows, std::int64_t columns,
                     double deviation, const Made& made)
    : weight(normal_parameter(name + ".weight", {rows, columns}, deviation, made)) {}

Value Embedding::forward(Tape& tape, const Tensor& indices) {
  return autograd::embedding(tape, tape.leaf(weight), indices);
}

void Embedding::add_to(std::vector<Parameter*>& parameters) { parameters.push_back(&weight); }

LayerNorm::LayerNorm(const std::string& name, std::int64_t columns, const Made& made)
    : weight(constant_parameter(name + ".weight", columns, 1, made)),
      bias(constant_parameter(name + ".bias", columns, 0, made)) {}

Value LayerNorm::forward(Tape& tape, const Value& x) {
  const Value w = tape.leaf(weight);
  return autograd::layer_norm(tape, x, w, tape.leaf(bias));
}

void LayerNorm::add_to(std::vector<Parameter*>& parameters) {
  parameters.push_back(&weight);
  parameters.push_back(&bias);
}

RmsNorm::RmsNorm(const std::string& name, std::int64_t columns, const Made& made)
    : weight(constant_parameter(name + ".weight", columns, 1, made)) {}

Value RmsNorm::forward(Tape& tape, const Value& x) {
  return autograd::rms_norm(tape, x, tape.leaf(weight));
}

void RmsNorm::add_to(std::vector<Parameter*>& parameters) { parameters.push_back(&weight); }

CausalSelfAttention::CausalSelfAttention(const std::string& name, std::int64_t width,
                                         std::int64_t heads_, double deviation,
                                         double deviation_out, const Made& made)
    : heads(heads_),
      c_attn(name + ".c_attn", width, 3 * width, deviation, Linear::Bias::zero, made),
      c_proj(name + ".c_proj", width, width, deviation_out, Linear::Bias::zero, made) {}

Value CausalSelfAttention::forward(Tape& tape, const Value& x) {
  const Value qkv = c_attn.forward(tape, x);  // [B, T, 3·C]
  return c_proj.forward(tape, autograd::causal_attention(tape, qkv, heads));
}

void CausalSelfAttention::add_to(std::vector<Parameter*>& parameters) {
  c_attn.add_to(parameters);
  c_proj.add_to(parameters);
}

FeedForward::FeedForward(const std::string& name, std::int64_t width, std::int64_t hidden,
                         double deviation, double deviation_out, const Made& made)
    : c_fc(name + ".c_fc", width, hidden, deviation, Linear::Bias::zero, made),
      c_proj(name + ".c_proj", hidden, width, deviation_out, Linear::Bias::zero, made) {}

Value FeedForward::forward(Tape& tape, const Value& x) {
  return c_proj.forward(tape, autograd::activate(tape, c_fc.forward(tape, x), activation));
}

void FeedForward::add_to(std::vector<Parameter*>& parameters) {
  c_fc.add_to(parameters);
  c_proj.add_to(parameters);
}

}  // namespace lockstep::nn
