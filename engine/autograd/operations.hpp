// Differentiable operations: each computes a value and records on the tape how its gradient flows
// back. Shapes and costs are those of the operation of the same name in engine/tensor.
// B batch, T tokens, I inputs, O outputs, C channels, V vocabulary.
#pragma once

#include <span>

#include "engine/autograd/tape.hpp"
#include "engine/tensor/activation.hpp"
#include "engine/tensor/attention.hpp"
#include "engine/tensor/gather.hpp"
#include "engine/tensor/softmax.hpp"

namespace lockstep::autograd {

using ops::Activation;

// x [..., I] · weightᵀ + bias, weight [O, I], bias [O] → [..., O]
Value linear(Tape& tape, const Value& x, const Value& weight, const Value& bias);
Value linear(Tape& tape, const Value& x, const Value& weight);
Value matmul(Tape& tape, const Value& a, const Value& b);  // [M, K] · [K, N]

Value add(Tape& tape, const Value& a, const Value& b);  // these three broadcast
Value subtract(Tape& tape, const Value& a, const Value& b);
Value multiply(Tape& tape, const Value& a, const Value& b);
Value scale(Tape& tape, const Value& x, double factor);
Value sum(Tape& tape, const Value& x);   // → [1]
Value mean(Tape& tape, const Value& x);  // → [1]

// Not kept for what follows but made again from x, which is kept (relu alone is kept).
Value activate(Tape& tape, const Value& x, Activation activation);
Value relu(Tape& tape, const Value& x);

Value softmax(Tape& tape, const Value& x);  // over the last axis
// By the logits' own rule if they have one (Value::loss).
Value cross_entropy(Tape& tape, const Value& logits, const Tensor& labels,
                    const ops::CrossEntropyOptions& options = {});  // → [1]

// Over the last axis. Made again from x for what follows, not kept.
Value layer_norm(Tape& tape, const Value& x, const Value& weight, const Value& bias,
                 double epsilon = 1e-5);
Value rms_norm(Tape& tape, const Value& x, const Value& weight, double epsilon = 1e-6);

Value embedding(Tape& tape, const Value& table, const Tensor& indices);
Value dropout(Tape& tape, const Value& x, const ops::DropoutMask& mask);
// qkv [B, T, 3·C] → [B, T, C]
Value causal_attention(Tape& tape, const Value& qkv, std::int64_t heads);
// The softmax goes over one block of keys and values, as if the queries saw no other.
//   queries [B, Tq, C], keys_values [B, Tk, 2·C] → [B, Tq, C]
Value attention(Tape& tape, const Value& queries, const Value& keys_values,
                const ops::AttentionOptions& options);

Value view(Tape& tape, const Value& x, Shape shape);
Value transpose(Tape& tape, const Value& x, std::int64_t axis_a, std::int64_t axis_b);
Value narrow(Tape& tape, const Value& x, std::int64_t axis, std::int64_t start,
             std::int64_t length);
Value concatenate(Tape& tape, std::span<const Value> parts, std::int64_t axis);

}  // namespace lockstep::autograd
