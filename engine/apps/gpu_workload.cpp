#include "engine/apps/gpu_workload.hpp"

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::apps {
namespace {

class Workload {
 public:
  Workload(Device& device, DType dtype) : device_(device), dtype_(dtype) {}

  void elements() {
    const Tensor x = noise({12, 256}), grad = noise({12, 256}), row = noise({256});
    const Tensor column = noise({12, 1});
    const Tensor factor = full({1}, 0.3, DType::float64, device_);
    const Tensor scaled = x.clone(), to_each = x.clone(), filled = x.clone();
    scaled.scale_(0.7);
    ops::scale_by_(scaled, factor);
    ops::add_row_(to_each, row);
    filled.narrow(1, 1).fill_(3);
    ops::add(x, row);
    ops::subtract(column, x);
    ops::multiply(x, grad);
    ops::scale(x, -1.7);
    ops::dropout(x, {.rate = 0.4, .seed = 5, .first_sample = 2, .sample_stride = 3});
    for (const auto activation :
         {ops::Activation::relu, ops::Activation::gelu, ops::Activation::gelu_exact,
          ops::Activation::silu, ops::Activation::tanh, ops::Activation::sigmoid}) {
      ops::activate_backward(grad, ops::activate(x, activation), activation);
    }
    x.to(dtype_ == DType::float32 ? DType::bfloat16 : DType::float32);
    x.to(DType::int32);
    checksums_of(std::span(&x, 1));
  }

  void movements() {
    const Tensor x = noise({2, 64, 96});
    ops::transpose(x, 0, 1);
    ops::transpose(x, 1, 2);
    ops::narrow(x, 2, 32, 32);
    ops::widen(x, 1, 2, 70);
    const Tensor parts[] = {x, x.clone()};
    ops::concatenate(parts, 1);
    empty({64, 96}, dtype_, device_).copy_(x.narrow(0, 1).view({64, 96}));
    x.clone().reduce_(x, ReduceOp::sum);
  }

  void sums() {
    const Tensor x = noise({64, 256}), long_rows = noise({6, 4096});
    ops::sum(x);
    ops::sum_rows(x);
    ops::sum_to(x, {64, 1});
    ops::sum_to(x, {256});
    ops::sum_to(long_rows, {6, 1});
    const Tensor grads[] = {noise({4096}), noise({6, 32})};
    const auto [norm, factor] = ops::clip_factor(ops::sum_of_squares(grads), 0.5);
    ops::unscale_(grads, 0.25);
  }

  void updates() {
    const Tensor grad = noise({16'384}), value = noise({16'384});
    const Tensor first = zeros({16'384}, dtype_, device_), second = first.clone();
    ops::sgd_update_(value, grad, first, {0.1, 0.9, 0.01, Nesterov::no});
    ops::adam_update_(value, grad, first, second, {.learning_rate = 0.1}, 1);
  }

  void rows() {
    const Tensor table = noise({300, 256}), indices = drawn(96, 300);
    ops::embedding_backward(ops::embedding(table, indices), indices, 300);
    for (const auto& [count, classes] :
         {std::pair<std::int64_t, std::int64_t>{32, 512}, {8, 2048}}) {
      const Tensor logits = noise({count, classes}), labels = drawn(count, classes);
      const Tensor y = ops::softmax(logits);
      ops::softmax_backward(logits, y);
      const auto [loss, probabilities] = ops::cross_entropy(logits, labels, {});
      ops::cross_entropy_backward(full({1}, 1, loss.dtype(), device_), probabilities, labels, {});
      ops::count_correct(logits, labels);
      split_rows(logits, labels);
    }
    for (const auto& [count, width] :
         {std::pair<std::int64_t, std::int64_t>{128, 256}, {8, 2048}}) {
      const Tensor x = noise({count, width}), weight = noise({width}), bias = noise({width});
      const auto layer = ops::layer_norm(x, weight, bias, 1e-5);
      ops::norm_backward(x, x, weight, layer.mean, layer.inverse_deviation);
      ops::normalize_again(x, weight, bias, layer.mean, layer.inverse_deviation);
      const auto rms = ops::rms_norm(x, weight, 1e-5);
      ops::norm_backward(x, x, weight, {}, rms.inverse_deviation);
    }
  }

  void split_rows(const Tensor& logits, const Tensor& labels) {
    const std::int64_t columns = logits.size(1);
    const ops::ColumnSplit split{0, columns, columns};
    const Tensor maximum = ops::row_maximum(logits, split);
    const Tensor sum = ops::sum_of_exponentials(logits, maximum, split);
    const Tensor picked = ops::picked_logits(logits, labels, split);
    const Tensor loss = ops::split_cross_entropy(maximum, sum, picked, labels);
    ops::split_cross_entropy_backward(full({1}, 1, loss.dtype(), device_), logits, maximum, sum,
                                      labels, split);
  }

  void attention() {
    for (const std::int64_t head : {32, 64, 136}) {
      const Tensor qkv = noise({1, 64, 2 * 3 * head}), grad = noise({1, 64, 2 * head});
      const auto forward = ops::causal_attention(qkv, 2);
      ops::causal_attention_backward(grad, qkv, forward, 2);
      const Tensor keys_values = noise({1, 64, 2 * 2 * head});
      const ops::AttentionOptions block{2, {{64, 64}}, {{0, 32}, {96, 32}}};
      const auto of_block = ops::attention(grad, keys_values, block);
      ops::attention_backward(grad, grad, keys_values, of_block, block);
      ops::merge_attention(forward, of_block);
    }
  }

 private:
  Tensor noise(Shape shape) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < numel_of(shape); ++i) {
      values.push_back(2 * random_uniform(1, static_cast<std::uint64_t>(i)) - 1);
    }
    return from_values(values, std::move(shape), dtype_, device_);
  }
  Tensor drawn(std::int64_t count, std::int64_t below) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(std::floor(random_uniform(2, static_cast<std::uint64_t>(i)) *
                                  static_cast<double>(below)));
    }
    return from_values(values, {count}, DType::int64, device_);
  }

  Device& device_;
  DType dtype_;
};

}  // namespace

void run_gpu_workload(Device& device, DType dtype) {
  Workload workload(device, dtype);
  workload.elements();
  workload.movements();
  workload.sums();
  workload.updates();
  workload.rows();
  workload.attention();
  device.settle();
}

}  // namespace lockstep::apps
