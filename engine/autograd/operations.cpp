// Each operation's value, and next to it the derivative that the tape will call.
#include "engine/autograd/operations.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/tensor/ops.hpp"

namespace lockstep::autograd {

using ops::Transpose;
using Gradients = std::vector<Tensor>;

namespace {

bool wanted(const Value& input) { return input.node >= 0; }

// [..., C] as [rows, C]
Tensor matrix(const Tensor& x) {
  Shape rows = x.shape();
  const std::int64_t columns = rows.back();
  rows.pop_back();
  return x.view({numel_of(rows), columns});
}

// Keeps x though x could be made again, so that recipes do not call recipes.
Saved kept(Value x) {
  x.remake = nullptr;
  return Saved(x);
}

Value remade(Value value, Remake remake) {
  value.remake = std::make_shared<const Remake>(std::move(remake));
  return value;
}

// y = x·Wᵀ (+ b): dx = g·W, and, in the other half, dW = gᵀ·x, db = Σ g. `inputs` are x, W and,
// where there is one, b.
Value record_linear(Tape& tape, Tensor y, std::vector<Value> inputs) {
  const Value &x = inputs[0], &weight = inputs[1];
  const std::size_t count = inputs.size();
  const bool db = count == 3 && wanted(inputs[2]);
  Tape::Backward to_weights = [&tape, saved = Saved(x), leaf = weight.node, dw = wanted(weight), db,
                               count](const Tensor& grad) {
    Gradients grads(count);
    if (dw) {
      grads[1] = ops::matmul(matrix(grad), Transpose::yes, matrix(saved.get()), Transpose::no,
                             tape.place_of(leaf));
    }
    if (db) grads[2] = ops::sum_rows(grad);
    return grads;
  };
  // If both halves come at once, the weights come first: an x that is made again for them is gone
  // before dx is there.
  Tape::Backward to_input = [&tape, to_weights, weight = Saved(weight), shape = x.tensor.shape(),
                             dx = wanted(x), count](const Tensor& grad) {
    Gradients grads = tape.in_halves() ? Gradients(count) : to_weights(grad);
    if (dx) {
      grads[0] = ops::matmul(matrix(grad), Transpose::no, weight.get(), Transpose::no).view(shape);
    }
    return grads;
  };
  Tape::Backward rest = [&tape, to_weights, count](const Tensor& grad) {
    return tape.in_halves() ? to_weights(grad) : Gradients(count);
  };
  return tape.record(std::move(y), std::move(inputs), std::move(to_input), std::move(rest));
}

}  // namespace

Value linear(Tape& tape, const Value& x, const Value& weight, const Value& bias) {
  Tensor y = ops::linear(x.tensor, weight.tensor);
  ops::add_row_(y, bias.tensor);
  return record_linear(tape, std::move(y), {x, weight, bias});
}

Value linear(Tape& tape, const Value& x, const Value& weight) {
  return record_linear(tape, ops::linear(x.tensor, weight.tensor), {x, weight});
}

Value matmul(Tape& tape, const Value& a, const Value& b) {
  return tape.record(ops::matmul(a.tensor, Transpose::no, b.tensor, Transpose::no), {a, b},
                     [x = Saved(a), y = Saved(b), da = wanted(a), db = wanted(b)](const Tensor& g) {
                       Gradients grads(2);
                       if (da) grads[0] = ops::matmul(g, Transpose::no, y.get(), Transpose::yes);
                       if (db) grads[1] = ops::matmul(x.get(), Transpose::yes, g, Transpose::no);
                       return grads;
                     });
}

Value add(Tape& tape, const Value& a, const Value& b) {
  return tape.record(ops::add(a.tensor, b.tensor), {a, b},
                     [a = a.tensor.shape(), b = b.tensor.shape()](const Tensor& grad) {
                       return Gradients{ops::sum_to(grad, a), ops::sum_to(grad, b)};
                     });
}

Value subtract(Tape& tape, const Value& a, const Value& b) {
  return tape.record(ops::subtract(a.tensor, b.tensor), {a, b},
                     [a = a.tensor.shape(), b = b.tensor.shape()](const Tensor& grad) {
                       return Gradients{ops::sum_to(grad, a), ops::scale(ops::sum_to(grad, b), -1)};
                     });
}

Value multiply(Tape& tape, const Value& a, const Value& b) {
  return tape.record(
      ops::multiply(a.tensor, b.tensor), {a, b},
      [x = Saved(a), y = Saved(b), shape_a = a.tensor.shape(), shape_b = b.tensor.shape(),
       da = wanted(a), db = wanted(b)](const Tensor& grad) {
        Gradients grads(2);
        if (da) grads[0] = ops::sum_to(ops::multiply(grad, y.get()), shape_a);
        if (db) grads[1] = ops::sum_to(ops::multiply(grad, x.get()), shape_b);
        return grads;
      });
}

Value scale(Tape& tape, const Value& x, double factor) {
  return tape.record(ops::scale(x.tensor, factor), {x},
                     [factor](const Tensor& grad) { return Gradients{ops::scale(grad, factor)}; });
}

Value sum(Tape& tape, const Value& x) {
  return tape.record(ops::sum(x.tensor), {x}, [shape = x.tensor.shape()](const Tensor& grad) {
    // A scalar broadcasts to every element it was the sum of.
    return Gradients{
        ops::add(zeros(shape, grad.dtype(), grad.device(), MemoryKind::activations), grad)};
  });
}

Value mean(Tape& tape, const Value& x) {
  LOCKSTEP_CHECK(x.tensor.numel() > 0, "mean: no elements; the mean of none is undefined");
  return scale(tape, sum(tape, x), 1 / static_cast<double>(x.tensor.numel()));
}

Value activate(Tape& tape, const Value& x, Activation activation) {
  const Saved saved = kept(x);
  Value y = tape.record(ops::activate(x.tensor, activation), {x},
                        [saved, activation](const Tensor& grad) {
                          return Gradients{ops::activate_backward(grad, saved.get(), activation)};
                        });
  if (!wanted(y)) return y;
  return remade(std::move(y),
                [saved, activation] { return ops::activate(saved.get(), activation); });
}

// relu's slope can be read off its result, which the next layer keeps anyway.
Value relu(Tape& tape, const Value& x) {
  const Tensor y = ops::activate(x.tensor, Activation::relu);
  return tape.record(y, {x}, [y](const Tensor& grad) {
    return Gradients{ops::activate_backward(grad, y, Activation::relu)};
  });
}

Value softmax(Tape& tape, const Value& x) {
  const Tensor y = ops::softmax(x.tensor);
  return tape.record(y, {x},
                     [y](const Tensor& grad) { return Gradients{ops::softmax_backward(grad, y)}; });
}

Value cross_entropy(Tape& tape, const Value& logits, const Tensor& labels,
                    const ops::CrossEntropyOptions& options) {
  if (logits.loss) return (*logits.loss)(tape, logits, labels, options);
  auto [loss, probabilities] = ops::cross_entropy(logits.tensor, labels, options);
  return tape.record(std::move(loss), {logits},
                     [p = std::move(probabilities), labels, options](const Tensor& grad) {
                       return Gradients{ops::cross_entropy_backward(grad, p, labels, options)};
                     });
}

namespace {

// `parameters` are the weight and, for LayerNorm, the bias.
Value record_norm(Tape& tape, const Value& x, std::vector<Value> parameters, ops::Normalized out) {
  const Saved saved = kept(x), weight(parameters[0]);
  const Saved bias = parameters.size() == 2 ? Saved(parameters[1]) : Saved(Tensor());
  std::vector<Value> inputs = {x};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  const Tensor mean = out.mean, deviation = out.inverse_deviation;
  Value y = tape.record(
      std::move(out.y), std::move(inputs), [saved, weight, mean, deviation](const Tensor& grad) {
        auto grads = ops::norm_backward(grad, saved.get(), weight.get(), mean, deviation);
        Gradients all = {grads.x, grads.weight};
        if (grads.bias.defined()) all.push_back(grads.bias);
        return all;
      });
  if (!wanted(y)) return y;
  return remade(std::move(y), [saved, weight, bias, mean, deviation] {
    return ops::normalize_again(saved.get(), weight.get(), bias.get(), mean, deviation);
  });
}

}  // namespace

Value layer_norm(Tape& tape, const Value& x, const Value& weight, const Value& bias,
                 double epsilon) {
  return record_norm(tape, x, {weight, bias},
                     ops::layer_norm(x.tensor, weight.tensor, bias.tensor, epsilon));
}

Value rms_norm(Tape& tape, const Value& x, const Value& weight, double epsilon) {
  return record_norm(tape, x, {weight}, ops::rms_norm(x.tensor, weight.tensor, epsilon));
}

Value embedding(Tape& tape, const Value& table, const Tensor& indices) {
  return tape.record(ops::embedding(table.tensor, indices), {table},
                     [indices, rows = table.tensor.size(0)](const Tensor& grad) {
                       return Gradients{ops::embedding_backward(grad, indices, rows)};
                     });
}

Value dropout(Tape& tape, const Value& x, const ops::DropoutMask& mask) {
  if (mask.rate == 0) return x;
  return tape.record(ops::dropout(x.tensor, mask), {x},
                     [mask](const Tensor& grad) { return Gradients{ops::dropout(grad, mask)}; });
}

Value causal_attention(Tape& tape, const Value& qkv, std::int64_t heads) {
  const ops::Attention out = ops::causal_attention(qkv.tensor, heads);
  return tape.record(out.output, {qkv}, [saved = Saved(qkv), out, heads](const Tensor& grad) {
    return Gradients{ops::causal_attention_backward(grad, saved.get(), out, heads)};
  });
}

Value attention(Tape& tape, const Value& queries, const Value& keys_values,
                const ops::AttentionOptions& options) {
  const ops::Attention out = ops::attention(queries.tensor, keys_values.tensor, options);
  return tape.record(
      out.output, {queries, keys_values},
      [q = Saved(queries), kv = Saved(keys_values), out, options](const Tensor& grad) {
        auto [of_q, of_kv] = ops::attention_backward(grad, q.get(), kv.get(), out, options);
        return Gradients{std::move(of_q), std::move(of_kv)};
      });
}

Value view(Tape& tape, const Value& x, Shape shape) {
  return tape.record(
      x.tensor.view(std::move(shape)), {x},
      [shape = x.tensor.shape()](const Tensor& grad) { return Gradients{grad.view(shape)}; });
}

Value transpose(Tape& tape, const Value& x, std::int64_t axis_a, std::int64_t axis_b) {
  return tape.record(ops::transpose(x.tensor, axis_a, axis_b), {x},
                     [axis_a, axis_b](const Tensor& grad) {
                       return Gradients{ops::transpose(grad, axis_a, axis_b)};
                     });
}

Value narrow(Tape& tape, const Value& x, std::int64_t axis, std::int64_t start,
             std::int64_t length) {
  return tape.record(ops::narrow(x.tensor, axis, start, length), {x},
                     [axis, start, size = x.tensor.size(axis)](const Tensor& grad) {
                       return Gradients{ops::widen(grad, axis, start, size)};
                     });
}

Value concatenate(Tape& tape, std::span<const Value> parts, std::int64_t axis) {
  std::vector<Tensor> tensors;
  std::vector<std::int64_t> sizes;
  for (const Value& part : parts) {
    tensors.push_back(part.tensor);
    sizes.push_back(part.tensor.size(axis));
  }
  return tape.record(ops::concatenate(tensors, axis), {parts.begin(), parts.end()},
                     [sizes, axis](const Tensor& grad) {
                       Gradients grads;
                       std::int64_t start = 0;
                       for (const std::int64_t size : sizes) {
                         grads.push_back(ops::narrow(grad, axis, start, size));
                         start += size;
                       }
                       return grads;
                     });
}

}  // namespace lockstep::autograd
