// Every operation on a device whose memory the host cannot read: the CPU's bits, no read but those
// that are asked for, and complaints that come with the next one.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/base/random.hpp"
#include "engine/tensor/kernels.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/far_device.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::FarDevice;

namespace {

using Results = std::vector<Tensor>;
using Program = std::function<Results(Device& device)>;

// The same on both devices, bit for bit; the host reads the far one at the end only.
void check_same(const std::string& what, const Program& program) {
  INFO(what);
  CpuDevice near;
  FarDevice far;
  const Results wanted = program(near);
  const Results launched = program(far);
  CHECK(far.host_reads() == 0);
  CHECK(far.launches_waiting() > 0);
  const Results seen = to_host(launched);
  CHECK(far.host_reads() == 1);
  CHECK(far.flops() == near.flops());
  REQUIRE(seen.size() == wanted.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    INFO("result " << i);
    CHECK(seen[i].shape() == wanted[i].shape());
    CHECK(seen[i].dtype() == wanted[i].dtype());
    CHECK(std::ranges::equal(seen[i].raw_bytes(), wanted[i].raw_bytes()));
  }
}

// Between -2 and 2, with fractions where the type has them; its own for each stream.
Tensor noise(Shape shape, DType dtype, Device& device, std::uint64_t stream = 0) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel_of(shape); ++i) {
    values.push_back(4 * random_uniform(stream, static_cast<std::uint64_t>(i)) - 2);
  }
  if (dtype == DType::uint8) {
    for (double& value : values) value = std::fabs(value);
  }
  return from_values(values, std::move(shape), dtype, device);
}

Tensor integers(std::initializer_list<double> values, Device& device) {
  return from_values({values.begin(), values.size()}, {std::ssize(values)}, DType::int64, device);
}

constexpr DType computed[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};

Results movements(DType dtype, Device& device) {
  const Tensor x = noise({3, 5, 4}, dtype, device), y = noise({3, 5, 4}, dtype, device, 1);
  const Tensor filled = x.clone(), copied = empty({2, 5, 4}, dtype, device);
  filled.narrow(1, 1).fill_(3);
  copied.copy_(x.narrow(1, 2));
  const Tensor shifted = x.clone();  // the two overlap
  shifted.narrow(0, 2).copy_(shifted.narrow(1, 2));
  const Tensor parts[] = {x, ops::narrow(y, 1, 0, 2), x.narrow(0, 3)};
  return {x,
          x.clone().narrow(1, 2).view({-1}),
          filled,
          copied,
          shifted,
          zeros({7}, dtype, device),
          full({2, 3}, 5, dtype, device),
          ops::transpose(x, 0, 2),
          ops::transpose(x, 1, 2),
          ops::narrow(x, 1, 1, 3),
          ops::widen(x, 1, 2, 9),
          ops::concatenate(parts, 1),
          written_by_host({4}, dtype, device, MemoryKind::buffers,
                          [](const Tensor& written) { written.fill_(9); }),
          x.narrow(0, 0)};
}

Results conversions(DType from, Device& device) {
  const Tensor x = noise({67}, from, device);
  Results converted;
  for (const DType to : all_dtypes) {
    // An unsigned type refuses what is negative.
    const bool refused = to == DType::uint8 && from != DType::uint8;
    converted.push_back((refused ? full({3}, 2, from, device) : x).to(to));
  }
  return converted;
}

Results reductions(DType dtype, Device& device) {
  Results reduced;
  for (const ReduceOp op : all_reduce_ops) {
    if (op == ReduceOp::average) continue;  // the group's, who scale
    reduced.push_back(noise({41}, dtype, device));
    reduced.back().reduce_(noise({41}, dtype, device, 1), op);
  }
  return reduced;
}

Results element_by_element(DType dtype, Device& device) {
  const Tensor x = noise({3, 4, 5}, dtype, device), grad = noise({3, 4, 5}, dtype, device, 1);
  const Tensor row = noise({5}, dtype, device, 2), column = noise({3, 1, 1}, dtype, device, 3);
  const Tensor factor = full({1}, 0.3, DType::float64, device);
  const Tensor scaled = x.clone(), by = x.clone(), shifted = x.clone();
  scaled.scale_(0.7);
  ops::scale_by_(by, factor);
  ops::add_row_(shifted, row);
  Results out{scaled,
              by,
              shifted,
              ops::add(x, row),
              ops::subtract(column, x),
              ops::multiply(x, grad),
              ops::scale(x, -1.7),
              ops::sum_to(x, {4, 1}),
              ops::sum(x),
              ops::sum_rows(x),
              ops::dropout(x, {.rate = 0.4, .seed = 5, .first_sample = 2, .sample_stride = 3})};
  for (const auto activation : ops::all_activations) {
    out.push_back(ops::activate(x, activation));
    out.push_back(ops::activate_backward(grad, x, activation));
  }
  return out;
}

Results products(DType dtype, Device& device) {
  using ops::Transpose;
  const Tensor a = noise({7, 11}, dtype, device), b = noise({11, 5}, dtype, device, 1);
  const Tensor at = noise({11, 7}, dtype, device, 2), bt = noise({5, 11}, dtype, device, 3);
  const Tensor into = full({7, 5}, std::numeric_limits<double>::quiet_NaN(), dtype, device);
  ops::matmul(a, Transpose::no, b, Transpose::no, into);
  return {into, ops::matmul(at, Transpose::yes, b, Transpose::no),
          ops::matmul(a, Transpose::no, bt, Transpose::yes),
          ops::matmul(at, Transpose::yes, bt, Transpose::yes),
          ops::linear(noise({2, 3, 11}, dtype, device), bt)};
}

Results losses(DType dtype, Device& device) {
  const Tensor logits = noise({4, 6}, dtype, device), grad = noise({4, 6}, dtype, device, 1);
  const Tensor labels = integers({0, 5, -100, 2}, device);
  const Tensor y = ops::softmax(logits);
  Results out{y, ops::softmax_backward(grad, y)};
  for (const auto reduction : {ops::Reduction::mean, ops::Reduction::sum}) {
    const auto [loss, probabilities] = ops::cross_entropy(logits, labels, {reduction});
    const Tensor of_loss = full({1}, 0.5, loss.dtype(), device);
    out.push_back(loss);
    out.push_back(probabilities);
    out.push_back(ops::cross_entropy_backward(of_loss, probabilities, labels, {reduction}));
  }
  const ops::ColumnSplit split{1, 4, 7};  // and two columns of padding
  const Tensor most = ops::row_maximum(logits, split),
               sum = ops::sum_of_exponentials(logits, most, split),
               picked = ops::picked_logits(logits, labels, split),
               loss = ops::split_cross_entropy(most, sum, picked, labels);
  const Tensor back = ops::split_cross_entropy_backward(loss, logits, most, sum, labels, split);
  out.insert(out.end(), {most, sum, picked, loss, back});
  return out;
}

Results norms(DType dtype, Device& device) {
  const Tensor x = noise({5, 19}, dtype, device), grad = noise({5, 19}, dtype, device, 1);
  const Tensor weight = noise({19}, dtype, device, 2), bias = noise({19}, dtype, device, 3);
  const auto layer = ops::layer_norm(x, weight, bias, 1e-5);
  const auto rms = ops::rms_norm(x, weight, 1e-5);
  const auto of_layer = ops::norm_backward(grad, x, weight, layer.mean, layer.inverse_deviation);
  const auto of_rms = ops::norm_backward(grad, x, weight, {}, rms.inverse_deviation);
  CHECK_FALSE(rms.mean.defined());
  CHECK_FALSE(of_rms.bias.defined());
  return {layer.y,
          layer.mean,
          layer.inverse_deviation,
          ops::normalize_again(x, weight, bias, layer.mean, layer.inverse_deviation),
          rms.y,
          rms.inverse_deviation,
          ops::normalize_again(x, weight, {}, {}, rms.inverse_deviation),
          of_layer.x,
          of_layer.weight,
          of_layer.bias,
          of_rms.x,
          of_rms.weight};
}

Results rows_by_number(DType dtype, Device& device) {
  const Tensor table = noise({6, 5}, dtype, device);
  const Tensor indices = integers({5, 0, 3, 3}, device);
  return {ops::embedding(table, indices.view({2, 2})),
          ops::embedding_backward(noise({4, 5}, dtype, device, 1), indices, 6),
          ops::split_embedding(table, indices, {2, 3, 6}),
          ops::split_embedding_backward(noise({4, 5}, dtype, device, 2), indices, {2, 3, 6}, 5)};
}

Results attention(DType dtype, Device& device) {
  const Tensor qkv = noise({2, 37, 3 * 12}, dtype, device);
  const Tensor grad = noise({2, 37, 12}, dtype, device, 1);
  const auto forward = ops::causal_attention(qkv, 3);
  return {forward.output, forward.log_sums, ops::causal_attention_backward(grad, qkv, forward, 3)};
}

Results updates(DType dtype, Device& device) {
  const Tensor grad = noise({35}, dtype, device);
  Results out;
  const auto fresh = [&] { return out.emplace_back(noise({35}, dtype, device, out.size())); };
  const auto zero = [&] { return out.emplace_back(zeros({35}, dtype, device)); };
  for (const double momentum : {0.0, 0.9}) {
    const Tensor value = fresh(), velocity = momentum > 0 ? zero() : Tensor();
    for (int step = 0; step < 2; ++step) {
      ops::sgd_update_(value, grad, velocity, {0.1, momentum, 0.01, Nesterov::no});
    }
  }
  for (const DecayForm form : {DecayForm::coupled, DecayForm::decoupled}) {
    const Tensor value = fresh(), first = zero(), second = zero();
    AdamRule rule;
    rule.learning_rate = 0.1;
    rule.weight_decay = 0.01;
    rule.decay_form = form;
    for (int step = 1; step < 3; ++step) {
      ops::adam_update_(value, grad, first, second, rule, step);
    }
  }
  return out;
}

Results global_norms(DType dtype, Device& device) {
  const Tensor grads[] = {noise({35}, dtype, device), noise({2, 3}, dtype, device, 1)};
  const Tensor whole = ops::sum_of_squares(grads);
  const auto [norm, factor] = ops::clip_factor(whole, 0.5);
  const Tensor found = ops::unscale_(grads, 0.25);
  const Tensor bad[] = {full({3}, std::numeric_limits<double>::infinity(), dtype, device)};
  return {whole, norm, factor, grads[0], grads[1], found, ops::unscale_(bad, 0.25)};
}

}  // namespace

TEST_CASE("far: elements of every dtype move, convert and reduce to the CPU's bits") {
  for (const DType dtype : all_dtypes) {
    for (const auto& [what, program] :
         {std::pair("moved", &movements), std::pair("converted", &conversions),
          std::pair("reduced", &reductions)}) {
      check_same(text(what, " ", name_of(dtype)),
                 [&](Device& device) { return program(dtype, device); });
    }
  }
}

TEST_CASE("far: every operation computes the CPU's bits, forward and backward") {
  for (const DType dtype : computed) {
    for (const auto& [what, program] :
         {std::pair("elements", &element_by_element), std::pair("products", &products),
          std::pair("losses", &losses), std::pair("norms", &norms),
          std::pair("embedding", &rows_by_number), std::pair("attention", &attention),
          std::pair("updates", &updates), std::pair("global norms", &global_norms)}) {
      check_same(text(what, " of ", name_of(dtype)),
                 [&](Device& device) { return program(dtype, device); });
    }
  }
}

TEST_CASE("far: what comes back as a number is the CPU's too, and is one read") {
  CpuDevice near;
  FarDevice far;
  const auto numbers = [](Device& device) {
    const Tensor logits = noise({9, 4}, DType::float32, device);
    const Tensor labels = integers({0, 1, 2, 3, 0, 1, 2, 3, -100}, device);
    const std::vector<Tensor> both{logits, labels};
    std::vector<double> seen{static_cast<double>(ops::count_correct(logits, labels)),
                             number_of(logits, 5)};
    for (const auto sum : checksums_of(both)) seen.push_back(static_cast<double>(sum));
    return seen;
  };
  CHECK(numbers(near) == numbers(far));
  CHECK(far.host_reads() == 3);
}

TEST_CASE("far: the host does not read elements where they are, and is told how to get them") {
  FarDevice far;
  const Tensor x = full({2, 3}, 7, DType::float32, far);
  for (const auto& read : std::vector<std::function<void()>>{
           [&] { static_cast<void>(x.data<float>()); }, [&] { static_cast<void>(x.raw_bytes()); },
           [&] { static_cast<void>(x.item(2)); }}) {
    CHECK_THROWS_AS(read(), ContractError);
    CHECK_THROWS_WITH(read(), contains("on the device 'far'") && contains("to_host"));
  }
  CHECK(to_host(x).item(2) == 7);
  CHECK(&to_host(x).device() == &far.host());
}

TEST_CASE("far: tensors of two devices do not mix") {
  CpuDevice near;
  FarDevice far, other;
  const Tensor here = full({2}, 1, DType::float32, near), there = full({2}, 2, DType::float32, far);
  const Tensor elsewhere = full({2}, 3, DType::float32, other);
  CHECK_THROWS_WITH(there.copy_(here),
                    contains("copy_: one tensor is on 'far', the other on 'cpu'"));
  CHECK_THROWS_WITH(here.copy_(there), contains("to_device or to_host"));
  CHECK_THROWS_AS(there.reduce_(here, ReduceOp::sum), ContractError);
  CHECK_THROWS_AS(there.copy_(elsewhere), ContractError);
  CHECK_THROWS_AS(ops::add(there, here), ContractError);
  CHECK_THROWS_AS(ops::add(here, there), ContractError);
  const std::vector<Tensor> both{there, elsewhere};
  CHECK_THROWS_AS(to_host(both), ContractError);
  // Operations, too, whichever of the two is first.
  for (const auto& [a, b] : {std::pair{here, there}, std::pair{there, here}}) {
    const Tensor row = b.view({-1}), matrix = a.view({1, -1});
    CHECK_THROWS_WITH(ops::add(a, b), contains("bring both to one device"));
    CHECK_THROWS_WITH(ops::linear(matrix, b.view({1, -1})), contains("bring both to one device"));
    CHECK_THROWS_WITH(ops::add_row_(matrix, row), contains("bring both to one device"));
    CHECK_THROWS_WITH(ops::softmax_backward(matrix, b.view({1, -1})),
                      contains("bring both to one device"));
  }
  there.copy_(to_device(here, far));
  CHECK(number_of(there, 1) == 1);
  elsewhere.copy_(to_device(there, other));
  CHECK(number_of(elsewhere) == 1);
}

TEST_CASE("far: what is wrong with the data is told once, at the next to_host") {
  CpuDevice near;
  FarDevice far;
  const auto loss_of = [](Device& device, std::initializer_list<double> labels) {
    const Tensor logits = full({2, 3}, 1, DType::float32, device);
    return ops::cross_entropy(logits, integers(labels, device)).loss;
  };
  std::string said;
  try {
    loss_of(near, {1, 3});
  } catch (const ContractError& error) {
    said = error.what();
  }
  CHECK_THAT(said, contains("label 3 of row 1"));
  const Tensor wrong = loss_of(far, {1, 3});
  const Tensor wrong_too = loss_of(far, {-1, 0});  // the first complaint is the one that is told
  CHECK_THROWS_WITH(to_host(wrong), said);
  CHECK_NOTHROW(to_host(wrong_too));
  CHECK(far.host_reads() == 2);

  const Tensor table = full({4, 2}, 1, DType::float32, far);
  const Tensor rows = ops::embedding(table, integers({1, 9}, far));
  CHECK_THROWS_AS(to_host(table), ContractError);
  CHECK(to_host(rows).item(3) == 0);  // the row of no index
  const Tensor whole = full({1}, -1, DType::float32, far).to(DType::uint8);
  CHECK_THROWS_AS(to_host(whole), ContractError);
  const Tensor ignored = loss_of(far, {-100, -100});
  CHECK_THROWS_WITH(far.settle(), contains("the mean of an empty batch"));
}

// What follows the check has been launched, too, and must not go where the numbers point.
TEST_CASE("far: a number far outside reaches no memory, forward or backward") {
  for (const double wrong : {-1.0, 3.0, 1e15, -1e15}) {
    FarDevice far;
    const Tensor table = full({3, 2}, 1, DType::float32, far);
    const Tensor logits = full({2, 3}, 1, DType::float32, far);
    const Tensor numbers = integers({0, wrong}, far);
    const Tensor rows = ops::embedding(table, numbers);
    const Tensor table_grad = ops::embedding_backward(rows, numbers, 3);
    const auto [loss, probabilities] = ops::cross_entropy(logits, numbers);
    const Tensor grad =
        ops::cross_entropy_backward(full({1}, 1, DType::float32, far), probabilities, numbers);
    CHECK_THROWS_AS(ops::count_correct(logits, numbers), ContractError);
    CHECK(number_of(rows, 3) == 0);
    CHECK(number_of(table_grad, 4) == 0);
    CHECK(number_of(grad, 5) == 0);
  }
}

TEST_CASE("far: an upload does not look at the host's bytes again, and memory begins as garbage") {
  FarDevice far;
  CpuDevice near;
  const Tensor here = full({5}, 1, DType::int32, near);
  const Tensor there = to_device(here, far);
  here.fill_(2);
  CHECK(number_of(there, 4) == 1);
  CHECK(number_of(empty({3}, DType::int8, far), 2) == -1);  // 0xFF
}

TEST_CASE("far: memory is reused in the order of launches, and peaks are those of tensors") {
  FarDevice far(3 * 64);
  Tensor sum = zeros({16}, DType::float32, far);
  for (int i = 0; i < 10; ++i) {
    const Tensor one = full({16}, i, DType::float32, far);
    sum.reduce_(one, ReduceOp::sum);
  }
  CHECK(far.bytes_peak() == 128);
  const Tensor more = sum.clone(), last = more.clone();
  CHECK_THROWS_WITH(empty({1}, DType::float32, far), contains("192 bytes are spent"));
  last.fill_(1);
  far.catch_up();
  last.copy_(sum);
  sum = {};
  const Tensor garbage = empty({16}, DType::float32, far);  // where the sum was
  CHECK(number_of(last) == 45);
}
