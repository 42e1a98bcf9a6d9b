#include "engine/nn/layers.hpp"

#include "engine/nn/initialise.hpp"
#include "engine/tensor/rearrange.hpp"

namespace lockstep::nn {
namespace {

Parameter constant_parameter(const std::string& name, std::int64_t count, double value,
                             const Made& made) {
  return {name, constant({count}, value, made.dtype, made.device), {}, {}};
}

// Those of two layers, one after the other.
std::vector<Parameter*> parameters_of(Linear& first, Linear& second) {
  std::vector<Parameter*> all;
  first.add_to(all);
  second.add_to(all);
  return all;
}

}  // namespace

Parameter normal_parameter(const std::string& name, Shape shape, double deviation,
                           const Made& made) {
  return {name,
          normal(std::move(shape), deviation, stream_of(made.seed, name), made.dtype, made.device),
          {},
          {}};
}

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

LayerNorm::LayerNorm(const std::string& name, std::int64_t columns, const Made& made)
    : weight(constant_parameter(name + ".weight", columns, 1, made)),
      bias(constant_parameter(name + ".bias", columns, 0, made)) {}

Value LayerNorm::forward(Tape& tape, const Value& x) {
  const Value w = tape.leaf(weight);
  return autograd::layer_norm(tape, x, w, tape.leaf(bias));
}

std::vector<Parameter*> LayerNorm::parameters() { return {&weight, &bias}; }

RmsNorm::RmsNorm(const std::string& name, std::int64_t columns, const Made& made)
    : weight(constant_parameter(name + ".weight", columns, 1, made)) {}

Value RmsNorm::forward(Tape& tape, const Value& x) {
  return autograd::rms_norm(tape, x, tape.leaf(weight));
}

std::vector<Parameter*> RmsNorm::parameters() { return {&weight}; }

CausalSelfAttention::CausalSelfAttention(const std::string& name, std::int64_t width,
                                         std::int64_t heads_, const Deviations& deviations,
                                         const Made& made, Attend attend_)
    : heads(heads_),
      attend(attend_ ? std::move(attend_) : Attend(autograd::causal_attention)),
      c_attn(name + ".c_attn", width, 3 * width, deviations.weights, Linear::Bias::zero, made),
      c_proj(name + ".c_proj", width, width, deviations.last, Linear::Bias::zero, made) {}

Value CausalSelfAttention::forward(Tape& tape, const Value& x) {
  const Value qkv = c_attn.forward(tape, x);  // [B, T, 3·C]
  if (cache == nullptr) return c_proj.forward(tape, attend(tape, qkv, heads));
  return c_proj.forward(tape, cached_attention(tape, *cache, *this, qkv, heads));
}

std::vector<Parameter*> CausalSelfAttention::parameters() { return parameters_of(c_attn, c_proj); }

FeedForward::FeedForward(const std::string& name, std::int64_t width, std::int64_t hidden,
                         const Deviations& deviations, const Made& made)
    : c_fc(name + ".c_fc", width, hidden, deviations.weights, Linear::Bias::zero, made),
      c_proj(name + ".c_proj", hidden, width, deviations.last, Linear::Bias::zero, made) {}

Value FeedForward::forward(Tape& tape, const Value& x) {
  return c_proj.forward(tape, autograd::activate(tape, c_fc.forward(tape, x), activation));
}

std::vector<Parameter*> FeedForward::parameters() { return parameters_of(c_fc, c_proj); }

}  // namespace lockstep::nn
