#include "tests/gpu/programs.hpp"

#include <array>
#include <limits>
#include <utility>

namespace lockstep::test {

Results movements(DType dtype, Device& device) {
  const Tensor x = noise({3, 5, 4}, dtype, device), y = noise({3, 5, 4}, dtype, device, 1);
  const Tensor filled = x.clone(), copied = empty({2, 5, 4}, dtype, device);
  filled.narrow(1, 1).fill_(3);
  copied.copy_(x.narrow(1, 2));
  const Tensor forward = x.clone(), backward = x.clone();  // windows that overlap
  forward.narrow(0, 2).copy_(forward.narrow(1, 2));
  backward.narrow(1, 2).copy_(backward.narrow(0, 2));
  const Tensor parts[] = {x, ops::narrow(y, 1, 0, 2), x.narrow(0, 3)};
  const Tensor odd = noise({67}, dtype, device, 2).narrow(3, 60);  // begins between packets
  const Tensor wide = noise({2, 33, 65}, dtype, device, 3);        // more than one tile
  return {x,
          filled,
          copied,
          forward,
          backward,
          odd.clone(),
          odd.view({3, 20}).clone(),
          ops::narrow(odd.view({3, 20}), 1, 1, 18),
          zeros({7}, dtype, device),
          full({2, 3}, 5, dtype, device),
          ops::transpose(x, 0, 2),
          ops::transpose(x, 1, 2),
          ops::transpose(x, 0, 1),
          ops::transpose(wide, 1, 2),
          ops::transpose(wide, 0, 2),
          ops::transpose(ops::transpose(wide, 1, 2), 1, 2),
          ops::narrow(x, 1, 1, 3),
          ops::widen(x, 1, 2, 9),
          ops::concatenate(parts, 1),
          x.narrow(0, 0)};
}

Results element_by_element(DType dtype, Device& device, std::int64_t columns) {
  const Tensor x = noise({3, 4, columns}, dtype, device);
  const Tensor grad = noise({3, 4, columns}, dtype, device, 1);
  const Tensor row = noise({columns}, dtype, device, 2),
               column = noise({3, 1, 1}, dtype, device, 3);
  const Tensor factor = full({1}, 0.3, DType::float64, device);
  const Tensor scaled = x.clone(), by = x.clone(), by_one = x.clone(), shifted = x.clone();
  scaled.scale_(0.7);
  ops::scale_by_(by, factor);
  ops::scale_by_(by_one, full({1}, 1, DType::float64, device));
  ops::add_row_(shifted, row);
  const Tensor middle = noise({4, 1}, dtype, device, 4), one = noise({1}, dtype, device, 5);
  return {scaled,
          by,
          by_one,
          shifted,
          ops::add(x, row),
          ops::add(row, x),
          ops::subtract(column, x),
          ops::subtract(middle, column),
          ops::multiply(x, grad),
          ops::multiply(x, one),
          ops::multiply(noise({2, 1, 3, 1, columns - 3}, dtype, device, 6),
                        noise({1, 4, 1, 5, 1}, dtype, device, 7)),
          ops::scale(x, -1.7),
          ops::sum_rows(x),
          ops::sum_rows(noise({37, 33}, dtype, device, 8)),
          ops::sum_to(x, {columns}),
          ops::dropout(x, {.rate = 0.4, .seed = 5, .first_sample = 2, .sample_stride = 3}),
          ops::dropout(x, {.rate = 0.4, .seed = 5, .first_element = 7}),
          ops::dropout(noise({2, 131}, dtype, device, 9), {.rate = 0, .seed = 1})};
}

Results broadcasts(DType dtype, Device& device) {
  Results out;
  const Tensor x = noise({19, 7, 11}, dtype, device);
  const std::pair<Tensor, Tensor> pairs[] = {
      {x, noise({1}, dtype, device, 1)},
      {x, noise({11}, dtype, device, 1)},
      {noise({13, 1, 11}, dtype, device, 2), noise({7, 1}, dtype, device, 3)},
      {noise({5, 1, 11}, dtype, device, 2),
       noise({7, 1}, dtype, device, 3)},  // two turns of a block
      {noise({2, 1, 3, 1, 29}, dtype, device, 4), noise({1, 4, 1, 5, 1}, dtype, device, 5)}};
  for (const auto& [a, b] : pairs) {
    out.insert(out.end(), {ops::add(a, b), ops::subtract(a, b), ops::multiply(a, b)});
  }
  return out;
}

Results conversions(DType dtype, std::int64_t count, Device& device) {
  const Tensor x = ops::scale(noise({count}, dtype, device), 40);
  Results out;
  // Between them, in each of a thread's turns: what a half has not, the last that rounds to one,
  // and what lies just beside the middle of two halves.
  const double infinite = std::numeric_limits<double>::infinity();
  const std::array<double, 13> ends{infinite,
                                    -infinite,
                                    std::nan(""),
                                    0x1.ffdffep15,
                                    0x1p-14,
                                    1 + 0x1p-11 + 0x1p-40,
                                    1 + 3 * 0x1p-11 - 0x1p-40,
                                    -1 - 0x1p-11 - 0x1p-40,
                                    -1 - 3 * 0x1p-11 + 0x1p-40,
                                    1 + 0x1p-8 + 0x1p-40,
                                    1 + 3 * 0x1p-8 - 0x1p-40,
                                    -1 - 0x1p-8 - 0x1p-40,
                                    -1 - 3 * 0x1p-8 + 0x1p-40};
  std::vector<double> values;
  for (std::size_t i = 0; std::cmp_less(i, count); ++i) {
    values.push_back(i % 3 == 0 ? ends[i / 3 % ends.size()] : static_cast<double>(i) / 7);
  }
  const Tensor extreme = from_values(values, {count}, dtype, device);
  for (const DType to : computed) out.push_back(extreme.to(to));
  for (const DType to : {DType::float32, DType::float64, DType::bfloat16, DType::float16,
                         DType::int64, DType::int32, DType::int8}) {
    out.push_back(x.to(to));
  }
  return out;
}

Tensor common_to(DType from, DType to, std::int64_t count, Device& device) {
  if (!is_integer(to)) return noise({count}, from, device);
  double most = from == DType::float16 ? 60'000 : 0x1p62, least = -most;
  for (const DType type : {from, to}) {
    visit_dtype(type, [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) {
        // Less than all of it, so that no half rounds to what lies beyond.
        least = std::max(least, 0.98 * static_cast<double>(std::numeric_limits<T>::min()));
        most = std::min(most, 0.98 * static_cast<double>(std::numeric_limits<T>::max()));
      }
    });
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(least + (most - least) * random_uniform(5, static_cast<std::uint64_t>(i)));
  }
  return from_values(values, {count}, from, device);
}

Results reductions(DType dtype, Device& device) {
  Results all;
  for (const ReduceOp op : all_reduce_ops) {
    for (const auto& [begin, count] :
         {std::pair<std::int64_t, std::int64_t>{0, 1152 * packet_of(dtype) + 3},
          {3, 1155},
          {3, 300}}) {
      all.push_back(noise({begin + count}, dtype, device).narrow(begin, count));
      all.back().reduce_(noise({begin + count}, dtype, device, 1).narrow(begin, count), op);
    }
  }
  return all;
}

Results updates(std::int64_t count, DType dtype, Device& device) {
  const Tensor grad = noise({count}, dtype, device);
  Results out;
  const auto fresh = [&] { return out.emplace_back(noise({count}, dtype, device, out.size())); };
  const auto zero = [&] { return out.emplace_back(zeros({count}, dtype, device)); };
  for (const double momentum : {0.0, 0.9}) {
    for (const auto nesterov : {Nesterov::no, Nesterov::yes}) {
      for (const double decay : {0.0, 0.01}) {
        const Tensor value = fresh(), velocity = momentum > 0 ? zero() : Tensor();
        for (int step = 0; step < 3; ++step) {
          ops::sgd_update_(value, grad, velocity, {0.1, momentum, decay, nesterov});
        }
      }
    }
  }
  for (const auto form : {DecayForm::coupled, DecayForm::decoupled}) {
    for (const double decay : {0.0, 0.01}) {
      for (const double beta1 : {0.9, 0.3}) {  // either end of the mean
        const Tensor value = fresh(), first = zero(), second = zero();
        AdamRule rule{.learning_rate = 0.1, .beta1 = beta1, .weight_decay = decay};
        rule.decay_form = form;
        for (int step = 1; step < 4; ++step) {
          ops::adam_update_(value, grad, first, second, rule, step);
        }
      }
    }
  }
  return out;
}

Results global_norms(DType dtype, Device& device) {
  const Tensor grads[] = {noise({2100}, dtype, device), noise({2, 3}, dtype, device, 1),
                          noise({0}, dtype, device)};
  const Tensor whole = ops::sum_of_squares(grads);
  const auto [norm, factor] = ops::clip_factor(whole, 0.5);
  const auto [norm_too, one] = ops::clip_factor(whole, 1e9);
  const auto [norm_again, off] = ops::clip_factor(whole, 0);
  const Tensor found = ops::unscale_(grads, 0.25);
  const double infinite = std::numeric_limits<double>::infinity();
  const Tensor bad[] = {noise({300}, dtype, device, 2), full({33}, infinite, dtype, device)};
  const Tensor none[] = {full({3}, std::nan(""), dtype, device)};
  return {whole,
          norm,
          factor,
          norm_too,
          one,
          off,
          grads[0],
          grads[1],
          found,
          norm_too,
          ops::unscale_(bad, 0.25),
          ops::unscale_(none, 0.25)};
}

Results rows_by_number(std::int64_t columns, DType dtype, Device& device) {
  const Tensor table = noise({6, columns}, dtype, device);
  const Tensor few = integers({5, 0, 3, 3}, device), many = drawn_indices(90, 6, device);
  return {
      ops::embedding(table, few.view({2, 2})),
      ops::embedding(table, many),
      ops::embedding_backward(noise({4, columns}, dtype, device, 1), few, 6),
      ops::embedding_backward(noise({90, columns}, dtype, device, 2), many, 7),
      ops::embedding_backward(noise({0, columns}, dtype, device, 2), integers({}, device), 2),
      ops::split_embedding(table, many, {2, 3, 6}),
      ops::split_embedding_backward(noise({90, columns}, dtype, device, 3), many, {2, 3, 6}, 5)};
}

Results activations(std::int64_t count, DType dtype, Device& device, std::int64_t begin) {
  const Tensor x = noise({begin + count}, dtype, device).narrow(begin, count);
  const Tensor grad = noise({count}, dtype, device, 1);
  Results out;
  for (const auto activation : ops::all_activations) {
    out.push_back(ops::activate(x, activation));
    out.push_back(ops::activate_backward(grad, x, activation));
    out.push_back(ops::activate(ops::scale(x, 40), activation));  // flat and steep ends
    out.push_back(ops::activate_backward(grad, ops::scale(x, 40), activation));
  }
  return out;
}

Results sums(DType dtype, Device& device) {
  const Tensor x = noise({3, 4, 5}, dtype, device), many = noise({2, 3, 1100}, dtype, device, 1);
  Results out{ops::sum(x), ops::sum(many)};
  for (const Shape& shape : {Shape{4, 1}, Shape{5}, Shape{3, 1, 1}, Shape{3, 1, 5}, Shape{1, 4, 1},
                             Shape{1}, Shape{3, 4, 1}}) {
    out.push_back(ops::sum_to(x, shape));
  }
  out.push_back(ops::sum_to(many, {3, 1}));
  out.push_back(ops::sum_to(many, {2, 1, 1100}));
  out.push_back(ops::sum_to(noise({0, 5}, dtype, device), {5}));
  return out;
}

Results losses(std::int64_t rows, std::int64_t classes, DType dtype, Device& device) {
  const Tensor logits = noise({rows, classes}, dtype, device);
  const Tensor grad = noise({rows, classes}, dtype, device, 1);
  std::vector<double> wanted;
  for (std::int64_t r = 0; r < rows; ++r) {
    wanted.push_back(r % 3 == 1 ? -100 : static_cast<double>(r * 7 % classes));
  }
  const Tensor labels = integers(wanted, device), y = ops::softmax(logits);
  Results out{y, ops::softmax_backward(grad, y)};
  for (const auto reduction : {ops::Reduction::mean, ops::Reduction::sum}) {
    const auto [loss, probabilities] = ops::cross_entropy(logits, labels, {reduction});
    const Tensor of_loss = full({1}, 0.5, loss.dtype(), device);
    out.push_back(loss);
    out.push_back(probabilities);
    out.push_back(ops::cross_entropy_backward(of_loss, probabilities, labels, {reduction}));
  }
  const auto correct = static_cast<double>(ops::count_correct(logits, labels));
  out.push_back(full({1}, correct, DType::float64, device));
  return out;
}

Results split_losses(std::int64_t rows, std::int64_t classes, DType dtype, Device& device,
                     std::int64_t padding) {
  const std::int64_t half = (classes + 1) / 2;
  const ops::ColumnSplit splits[] = {{0, half, classes}, {half, classes - half, classes}};
  const Tensor logits[] = {noise({rows, half}, dtype, device),
                           noise({rows, classes - half + padding}, dtype, device, 1)};
  std::vector<double> wanted;
  for (std::int64_t r = 0; r < rows; ++r) {
    wanted.push_back(r % 3 == 1 ? -100 : static_cast<double>(r * 7 % classes));
  }
  const Tensor labels = integers(wanted, device);
  Tensor maximum = ops::row_maximum(logits[0], splits[0]);
  const Tensor other = ops::row_maximum(logits[1], splits[1]);
  Results out{maximum.clone(), other};
  maximum.reduce_(other, ReduceOp::max);
  Tensor sum = ops::sum_of_exponentials(logits[0], maximum, splits[0]);
  const ops::CrossEntropyOptions summed{ops::Reduction::sum};
  Tensor picked = ops::picked_logits(logits[0], labels, splits[0], summed);
  out.push_back(sum.clone());
  out.push_back(picked.clone());
  sum.reduce_(ops::sum_of_exponentials(logits[1], maximum, splits[1]), ReduceOp::sum);
  picked.reduce_(ops::picked_logits(logits[1], labels, splits[1], summed), ReduceOp::sum);
  for (const auto reduction : {ops::Reduction::mean, ops::Reduction::sum}) {
    if (rows == 0 && reduction == ops::Reduction::mean) continue;  // there is none
    const Tensor loss = ops::split_cross_entropy(maximum, sum, picked, labels, {reduction});
    const Tensor of_loss = full({1}, 0.5, loss.dtype(), device);
    out.push_back(loss);
    for (const int i : {0, 1}) {
      out.push_back(ops::split_cross_entropy_backward(of_loss, logits[i], maximum, sum, labels,
                                                      splits[i], {reduction}));
    }
  }
  return out;
}

Results norms(std::int64_t rows, std::int64_t columns, DType dtype, Device& device) {
  const Tensor x = noise({rows, columns}, dtype, device);
  const Tensor grad = noise({rows, columns}, dtype, device, 1);
  const Tensor weight = noise({columns}, dtype, device, 2),
               bias = noise({columns}, dtype, device, 3);
  const auto layer = ops::layer_norm(x, weight, bias, 1e-5);
  const auto rms = ops::rms_norm(x, weight, 1e-5);
  const auto of_layer = ops::norm_backward(grad, x, weight, layer.mean, layer.inverse_deviation);
  const auto of_rms = ops::norm_backward(grad, x, weight, {}, rms.inverse_deviation);
  return {layer.y,    layer.mean,      layer.inverse_deviation, rms.y,    rms.inverse_deviation,
          of_layer.x, of_layer.weight, of_layer.bias,           of_rms.x, of_rms.weight};
}

Results norms_again(std::int64_t rows, std::int64_t columns, DType dtype, Device& device) {
  const Tensor x = noise({rows, columns}, dtype, device);
  const Tensor weight = noise({columns}, dtype, device, 1),
               bias = noise({columns}, dtype, device, 2);
  const auto layer = ops::layer_norm(x, weight, bias, 1e-5);
  const Tensor& scale = layer.inverse_deviation;
  return {ops::normalize_again(x, weight, bias, layer.mean, scale),
          ops::normalize_again(x, weight, {}, layer.mean, scale),
          ops::normalize_again(x, weight, bias, {}, scale),
          ops::normalize_again(x, weight, {}, {}, scale)};
}

Results products(DType dtype, Device& device) {
  using ops::Transpose;
  Results out;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{7, 5, 11}, {1, 1, 1}, {33, 17, 65}}) {
    const Tensor a = noise({m, k}, dtype, device), b = noise({k, n}, dtype, device, 1);
    const Tensor at = noise({k, m}, dtype, device, 2), bt = noise({n, k}, dtype, device, 3);
    const Tensor into = full({m, n}, std::nan(""), dtype, device);
    ops::matmul(a, Transpose::no, b, Transpose::no, into);
    out.push_back(into);
    out.push_back(ops::matmul(at, Transpose::yes, b, Transpose::no));
    out.push_back(ops::matmul(a, Transpose::no, bt, Transpose::yes));
    out.push_back(ops::matmul(at, Transpose::yes, bt, Transpose::yes));
  }
  out.push_back(ops::linear(noise({2, 3, 11}, dtype, device), noise({5, 11}, dtype, device, 1)));
  out.push_back(ops::matmul(noise({3, 0}, dtype, device), Transpose::no,
                            noise({0, 2}, dtype, device), Transpose::no));
  out.push_back(ops::matmul(noise({0, 3}, dtype, device), Transpose::no,
                            noise({3, 2}, dtype, device), Transpose::no));
  return out;
}

Results attention(const Attended& of, DType dtype, Device& device) {
  const std::int64_t width = of.heads * of.head_size;
  const Tensor qkv = noise({of.batch, of.tokens, 3 * width}, dtype, device);
  const Tensor grad = noise({of.batch, of.tokens, width}, dtype, device, 1);
  const auto forward = ops::causal_attention(qkv, of.heads);
  return {forward.output, forward.log_sums,
          ops::causal_attention_backward(grad, qkv, forward, of.heads)};
}

Results attention_to_block(const AttendedBlock& of, DType dtype, Device& device) {
  const std::int64_t width = of.heads * of.head_size;
  const Tensor queries = noise({2, of.queries.count(), width}, dtype, device);
  const Tensor keys_values = noise({2, of.keys.count(), 2 * width}, dtype, device, 1);
  const Tensor grad = noise({2, of.queries.count(), width}, dtype, device, 2);
  const ops::AttentionOptions options{of.heads, of.queries, of.keys};
  const auto forward = ops::attention(queries, keys_values, options);
  const auto gradients = ops::attention_backward(grad, queries, keys_values, forward, options);
  return {forward.output, forward.log_sums, gradients.queries, gradients.keys_values};
}

std::vector<AttendedBlock> blocks_at_edges(std::int64_t heads, std::int64_t head_size) {
  std::vector<AttendedBlock> all;
  for (const auto& [queries, keys] : std::initializer_list<std::pair<Positions, Positions>>{
           {{{5, 4}}, {{0, 3}, {7, 9}}},
           {{{0, 3}, {50, 1}}, {{10, 8}}},
           {{{0, 34}, {80, 3}}, {{33, 30}, {81, 40}}},
           {{{64, 33}}, {{0, 70}}},
           {{{50, 1}}, {{0, 51}}},
           {{{0, 3}}, {{3, 35}}},
           {{{4, 2}}, {}},
           {{}, {{4, 2}}}}) {
    all.push_back({heads, head_size, queries, keys});
  }
  return all;
}

}  // namespace lockstep::test
