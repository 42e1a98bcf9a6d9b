// Every operation on paper beside the CPU, in every dtype and in sizes that no warp, packet, tile
// or block divides. What is only moved, and whatever rounds in the CPU's order, has the CPU's bits.
#include "engine/tensor/kernels.hpp"
#include "tests/gpu/beside_cpu.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Around a packet of 16 bytes, a warp, and a block of 256 threads.
constexpr std::int64_t counts[] = {0, 1, 7, 31, 33, 257};

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

Results element_by_element(DType dtype, Device& device) {
  const Tensor x = noise({3, 4, 5}, dtype, device), grad = noise({3, 4, 5}, dtype, device, 1);
  const Tensor row = noise({5}, dtype, device, 2), column = noise({3, 1, 1}, dtype, device, 3);
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
          ops::multiply(noise({2, 1, 3, 1, 2}, dtype, device, 6),
                        noise({1, 4, 1, 5, 1}, dtype, device, 7)),
          ops::scale(x, -1.7),
          ops::sum_rows(x),
          ops::sum_rows(noise({37, 33}, dtype, device, 8)),
          ops::sum_to(x, {5}),
          ops::dropout(x, {.rate = 0.4, .seed = 5, .first_sample = 2, .sample_stride = 3}),
          ops::dropout(noise({2, 131}, dtype, device, 9), {.rate = 0, .seed = 1})};
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
  return {ops::embedding(table, few.view({2, 2})), ops::embedding(table, many),
          ops::embedding_backward(noise({4, columns}, dtype, device, 1), few, 6),
          ops::embedding_backward(noise({90, columns}, dtype, device, 2), many, 7),
          ops::embedding_backward(noise({0, columns}, dtype, device, 2), integers({}, device), 2)};
}

}  // namespace

TEST_CASE("gpu: elements of every dtype move to the CPU's bits") {
  OnPaper paper;
  for (const DType dtype : all_dtypes) {
    check_beside(paper, text("moved ", name_of(dtype)),
                 [&](Device& device) { return movements(dtype, device); });
  }
}

TEST_CASE("gpu: every dtype becomes every other one as on the CPU") {
  OnPaper paper;
  for (const DType from : all_dtypes) {
    check_beside(paper, text("converted from ", name_of(from)), [&](Device& device) {
      Results converted;
      for (const DType to : all_dtypes) {
        for (const std::int64_t count : counts) {
          const bool refused = to == DType::uint8 && from != DType::uint8;  // what is negative
          const Tensor x = refused ? full({count}, 2, from, device) : noise({count}, from, device);
          converted.push_back(x.to(to));
        }
      }
      return converted;
    });
  }
}

TEST_CASE("gpu: numbers at the ends of their types are rounded as on the CPU") {
  OnPaper paper;
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> edges{0.0,       -0.0,     1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-40,
                                  0x1p-133,  0x1p-134, 0x1p-24,    0x1.8p-25,
                                  65504,     65519.99, 65520,      3.4e38,
                                  3.3961e38, infinity, -infinity,  std::nan(""),
                                  -2.5,      2.5,      0x1p-149,   1e-320};
  for (const DType from : {DType::float64, DType::float32}) {
    check_beside(paper, text("from ", name_of(from)), [&](Device& device) {
      const Tensor x = from_values(edges, {std::ssize(edges)}, from, device);
      return Results{x.to(DType::bfloat16), x.to(DType::float16), x.to(DType::float32),
                     x.to(DType::bfloat16).to(DType::float64),
                     x.to(DType::float16).to(DType::float32)};
    });
  }
  check_beside(paper, "whole numbers", [](Device& device) {
    const Tensor x = from_values(std::vector<double>{-0.99, 255, 254.99, 127, -0.0}, {5},
                                 DType::float64, device);
    const Tensor far = from_values(std::vector<double>{-0x1p63, 0x1.fffffffffffffp62}, {2},
                                   DType::float64, device);
    return Results{x.to(DType::uint8), far.to(DType::int64),
                   far.to(DType::int64).to(DType::float32)};
  });
}

TEST_CASE("gpu: reductions of every dtype combine as on the CPU, NaN and wrap-around too") {
  OnPaper paper;
  for (const DType dtype : all_dtypes) {
    check_beside(paper, text("reduced ", name_of(dtype)), [&](Device& device) {
      Results reduced;
      for (const ReduceOp op : all_reduce_ops) {
        for (const std::int64_t count : counts) {
          reduced.push_back(noise({count}, dtype, device));
          reduced.back().reduce_(noise({count}, dtype, device, 1), op);
        }
        if (is_integer(dtype)) {
          reduced.push_back(full({3}, 100, dtype, device));
          reduced.back().reduce_(full({3}, 100, dtype, device), op);
        } else {
          const std::vector<double> a{std::nan(""), 1, 2}, b{1, std::nan(""), -2};
          reduced.push_back(from_values(a, {3}, dtype, device));
          reduced.back().reduce_(from_values(b, {3}, dtype, device), op);
        }
      }
      return reduced;
    });
  }
}

TEST_CASE("gpu: what rounds once an element, or in a stated order, has the CPU's bits") {
  OnPaper paper;
  for (const DType dtype : computed) {
    check_beside(paper, text("elements of ", name_of(dtype)),
                 [&](Device& device) { return element_by_element(dtype, device); });
    check_beside(paper, text("norms of ", name_of(dtype)),
                 [&](Device& device) { return global_norms(dtype, device); });
  }
}

TEST_CASE("gpu: an optimizer's steps have the CPU's bits") {
  OnPaper paper;
  for (const DType dtype : computed) {
    for (const std::int64_t count : {1, 33, 257}) {
      check_beside(paper, text(count, " of ", name_of(dtype)),
                   [&](Device& device) { return updates(count, dtype, device); });
    }
  }
}

TEST_CASE("gpu: rows by number, and their gradient in the order of indices, have the CPU's bits") {
  OnPaper paper;
  for (const DType dtype : computed) {
    for (const std::int64_t columns : {1, 5, 130}) {
      check_beside(paper, text(columns, " columns of ", name_of(dtype)),
                   [&](Device& device) { return rows_by_number(columns, dtype, device); });
    }
  }
}

TEST_CASE("gpu: a grid that is smaller than its work walks on to the end") {
  OnPaper paper;
  // 2,048 blocks of 256 threads, in packets of 4 floats, and somewhat more.
  constexpr std::int64_t count = 2048 * 256 * 4 + 5;
  const Tensor x = full({count}, 3, DType::float32, paper.device());
  x.narrow(count - 1, 1).fill_(5);
  x.scale_(2);
  const Tensor seen = to_host(x);
  CHECK(seen.item(0) == 6);
  CHECK(seen.item(count - 6) == 6);
  CHECK(seen.item(count - 1) == 10);
  CHECK(std::ranges::count(seen.data<float>(), 6.0F) == count - 1);
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: checksums are those of the host's bytes") {
  OnPaper paper;
  CpuDevice cpu;
  for (const DType dtype : all_dtypes) {
    for (const std::int64_t count : {0, 1, 7, 33, 1025, 8300}) {
      const Tensor here = noise({count + 3}, dtype, cpu);
      const Tensor there = to_device(here, paper.device());
      const std::vector<Tensor> near{here, here.narrow(3, count)},
          away{there, there.narrow(3, count)};
      CHECK(checksums_of(away) == checksums_of(near));
    }
  }
  CHECK(paper.findings() == "");
}

TEST_CASE(
    "gpu: what is wrong with the data is told once, at the next to_host, in the CPU's words") {
  OnPaper paper;
  CpuDevice cpu;
  const auto loss_of = [](Device& device, const std::vector<double>& labels) {
    const Tensor logits = full({2, 3}, 1, DType::float32, device);
    return ops::cross_entropy(logits, integers(labels, device)).loss;
  };
  const auto said_by = [](const std::function<void()>& run) {
    try {
      run();
    } catch (const ContractError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string said = said_by([&] { loss_of(cpu, {1, 3}); });
  CHECK_THAT(said, contains("label 3 of row 1"));
  const Tensor wrong = loss_of(paper.device(), {1, 3});
  const Tensor wrong_too = loss_of(paper.device(), {-1, 0});
  CHECK(said_by([&] { to_host(wrong); }) == said);
  CHECK_NOTHROW(to_host(wrong_too));

  for (const double value : {-1.0, 256.0, std::nan("")}) {
    for (const std::int64_t place : {0, 100, 299}) {
      const auto convert = [&](Device& device) {
        const Tensor x = full({300}, 7, DType::float32, device);
        x.narrow(place, 300 - place).fill_(value);
        return x.to(DType::uint8);
      };
      const std::string expected = said_by([&] { convert(cpu); });
      CHECK(expected != "");
      const Tensor converted = convert(paper.device());
      CHECK(said_by([&] { to_host(converted); }) == expected);
      CHECK_NOTHROW(to_host(converted));
    }
  }
  const Tensor ignored = loss_of(paper.device(), {-100, -100});
  CHECK_THAT(said_by([&] { to_host(ignored); }), contains("the mean of an empty batch"));
  CHECK(paper.findings() == "");
}

// What follows the check has been launched, too, and must not go where the numbers point.
TEST_CASE("gpu: a number far outside reaches no memory, forward or backward") {
  for (const double wrong : {-1.0, 3.0, 1e15, -1e15}) {
    OnPaper paper;
    Device& device = paper.device();
    const Tensor table = full({3, 2}, 1, DType::float32, device);
    const Tensor logits = full({2, 3}, 1, DType::float32, device);
    const Tensor numbers = integers({0, wrong}, device);
    const Tensor rows = ops::embedding(table, numbers);
    const Tensor table_grad = ops::embedding_backward(rows, numbers, 3);
    const auto [loss, probabilities] = ops::cross_entropy(logits, numbers);
    const Tensor grad =
        ops::cross_entropy_backward(full({1}, 1, DType::float32, device), probabilities, numbers);
    CHECK_THROWS_AS(ops::count_correct(logits, numbers), ContractError);
    CHECK(number_of(rows, 3) == 0);
    CHECK(number_of(table_grad, 4) == 0);
    CHECK(number_of(grad, 5) == 0);
    CHECK(paper.findings() == "");
  }
}
