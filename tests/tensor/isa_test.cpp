// Every kernel that is compiled for each instruction set, with each that this processor has: the
// bits of the baseline, at lengths around the registers' and for values at the ends of the type.
#include "engine/tensor/cpu/isa.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "engine/base/random.hpp"
#include "engine/tensor/cpu/products.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using kernels::Isa;

namespace {

using Results = std::vector<Tensor>;
using Program = std::function<Results(Device& device)>;

// Equal bits, but any NaN is as good as another: of two, an addition gives its first operand, and
// which of them is the first the compiler decides for each body.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::bfloat16) return same_bits(a.to(DType::float32), b.to(DType::float32));
  const auto same = [](auto x, auto y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
  };
  return a.dtype() == DType::float32 ? std::ranges::equal(a.data<float>(), b.data<float>(), same)
                                     : std::ranges::equal(a.data<double>(), b.data<double>(), same);
}

void check_same_bits(const std::string& what, const Program& program) {
  INFO(what);
  CpuDevice baseline(kernels::portable_products(Isa::baseline));
  const Results wanted = program(baseline);
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (isa > kernels::widest_isa()) continue;
    INFO(name_of(isa));
    CpuDevice device(kernels::portable_products(isa));
    const Results seen = program(device);
    REQUIRE(seen.size() == wanted.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      INFO("result " << i);
      CHECK(same_bits(seen[i], wanted[i]));
    }
  }
}

enum class Values : std::uint8_t { ordinary, extreme };

// Ordinary values lie between -4 and 4. Among extreme ones, every fifth is an end of the type:
// infinities, NaN, zeros of both signs, and numbers next to zero and to infinity.
struct Source {
  Values values;
  DType dtype;

  Tensor operator()(Shape shape, Device& device, std::uint64_t stream = 0) const {
    const bool wide = dtype == DType::float64;
    const double least =
        wide ? std::numeric_limits<double>::denorm_min() : std::numeric_limits<float>::denorm_min();
    const double most =
        wide ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double ends[] = {infinity, -0.0, nan, least, -infinity, 0, most, -least, -most, -1000};
    std::vector<double> drawn;
    for (std::int64_t i = 0; i < numel_of(shape); ++i) {
      const auto place = static_cast<std::uint64_t>(i);
      drawn.push_back(8 * random_uniform(stream, place) - 4);
      if (values == Values::extreme && (place + stream) % 5 == 0) {
        drawn.back() = ends[(place + 3 * stream) / 5 % std::size(ends)];
      }
    }
    return from_values(drawn, std::move(shape), dtype, device);
  }
};

Results element_by_element(const Source& source, std::int64_t count, Device& device) {
  const Tensor x = source({3, count}, device), grad = source({3, count}, device, 1);
  const Tensor row = source({count}, device, 2), column = source({3, 1}, device, 3);
  const Tensor shifted = x.clone(), by = x.clone();
  ops::add_row_(shifted, row);
  ops::scale_by_(by, full({1}, -0.3, DType::float64, device));
  const Tensor all[] = {x, grad};
  Results out{shifted,
              by,
              ops::add(x, grad),
              ops::subtract(column, x),
              ops::multiply(x, column),
              ops::multiply(row, x),
              ops::add(column, column),
              ops::scale(x, -1.7),
              ops::sum_to(x, {count}),
              ops::sum_to(x, {3, 1}),
              ops::sum(x),
              ops::sum_rows(x),
              ops::sum_of_squares(all)};
  for (const auto activation : ops::all_activations) {
    out.push_back(ops::activate(x, activation));
    out.push_back(ops::activate_backward(grad, x, activation));
  }
  return out;
}

Results by_rows(const Source& source, std::int64_t count, Device& device) {
  const Tensor x = source({4, count}, device), grad = source({4, count}, device, 1);
  const Tensor weight = source({count}, device, 2), bias = source({count}, device, 3);
  const std::vector<double> classes{0, static_cast<double>(count - 1), -100, 0};
  const Tensor labels = from_values(classes, {4}, DType::int64, device);
  const Tensor y = ops::softmax(x);
  const auto [loss, probabilities] = ops::cross_entropy(x, labels, {});
  const ops::ColumnSplit split{0, count, count};
  const Tensor maximum = ops::row_maximum(x, split);
  const Tensor sum = ops::sum_of_exponentials(x, maximum, split);
  const auto layer = ops::layer_norm(x, weight, bias, 1e-5);
  const auto rms = ops::rms_norm(x, weight, 1e-5);
  const auto of_layer = ops::norm_backward(grad, x, weight, layer.mean, layer.inverse_deviation);
  const auto of_rms = ops::norm_backward(grad, x, weight, {}, rms.inverse_deviation);
  return {
      y,
      ops::softmax_backward(grad, y),
      loss,
      probabilities,
      ops::cross_entropy_backward(full({1}, 0.5, loss.dtype(), device), probabilities, labels, {}),
      maximum,
      sum,
      ops::split_cross_entropy_backward(full({1}, 0.5, loss.dtype(), device), x, maximum, sum,
                                        labels, split),
      layer.y,
      layer.mean,
      layer.inverse_deviation,
      ops::normalize_again(x, weight, bias, layer.mean, layer.inverse_deviation),
      rms.y,
      rms.inverse_deviation,
      of_layer.x,
      of_layer.weight,
      of_layer.bias,
      of_rms.x,
      of_rms.weight};
}

Results attention(const Source& source, std::int64_t tokens, Device& device) {
  const Tensor qkv = source({2, tokens, 3 * 12}, device);
  const Tensor grad = source({2, tokens, 12}, device, 1);
  const auto forward = ops::causal_attention(qkv, 3);
  const Tensor keys_values = source({2, 20, 2 * 12}, device, 2);
  const ops::AttentionOptions options{3, {{30, tokens}}, {{0, 10}, {40, 10}}};
  const auto block = ops::attention(grad, keys_values, options);
  const auto of_block = ops::attention_backward(grad, grad, keys_values, block, options);
  return {
      forward.output,      forward.log_sums, ops::causal_attention_backward(grad, qkv, forward, 3),
      block.output,        block.log_sums,   of_block.queries,
      of_block.keys_values};
}

Results products(const Source& source, std::int64_t count, Device& device) {
  using ops::Transpose;
  const Tensor a = source({7, count}, device), b = source({count, 37}, device, 1);
  return {ops::matmul(a, Transpose::no, b, Transpose::no),
          ops::matmul(b, Transpose::yes, a, Transpose::yes)};
}

Results updates(const Source& source, std::int64_t count, Device& device) {
  const Tensor grad = source({count}, device), value = source({count}, device, 1);
  const Tensor velocity = source({count}, device, 2), weight = value.clone();
  const Tensor first = source({count}, device, 3), second = source({count}, device, 4);
  ops::sgd_update_(value, grad, velocity, {0.1, 0.9, 0.01, Nesterov::yes});
  ops::adam_update_(weight, grad, first, second, {.learning_rate = 0.1, .weight_decay = 0.01}, 2);
  return {value, velocity, weight, first, second};
}

using Kernels = Results (*)(const Source& source, std::int64_t count, Device& device);

void check_all(const char* what, Kernels kernels, const std::vector<std::int64_t>& counts) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const Values values : {Values::ordinary, Values::extreme}) {
      for (const std::int64_t count : counts) {
        const bool extreme = values == Values::extreme;
        check_same_bits(text(what, " of ", count, extreme ? " extreme " : " ", name_of(dtype)),
                        [&](Device& device) {
                          return kernels(Source{values, dtype}, count, device);
                        });
      }
    }
  }
}

// Less than a register, whole registers of each width, and what does not divide.
const std::vector<std::int64_t> counts = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 67, 257};

std::vector<std::int64_t> counts_and_none() {
  std::vector<std::int64_t> all = counts;
  all.push_back(0);
  return all;
}

}  // namespace

TEST_CASE("isa: the same bits element by element, whatever the registers' width") {
  check_all("element by element", element_by_element, counts_and_none());
}

TEST_CASE("isa: the same bits in softmax, losses and norms, whatever the registers' width") {
  check_all("rows", by_rows, counts);
}

TEST_CASE("isa: the same bits in attention, whatever the registers' width") {
  check_all("attention", attention, {1, 2, 17, 63, 64, 65, 300});
}

TEST_CASE("isa: the same bits in the portable products, whatever the registers' width") {
  check_all("products", products, counts_and_none());
}

TEST_CASE("isa: the same bits in the update rules, whatever the registers' width") {
  check_all("updates", updates, counts_and_none());
}
