// Every operation on paper beside the CPU, in every dtype and in sizes that no warp, packet, tile
// or block divides. What is only moved, and whatever rounds in the CPU's order, has the CPU's bits.
#include "engine/tensor/kernels.hpp"
#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Around a packet of 16 bytes, a warp, and a block of 256 threads.
constexpr std::int64_t counts[] = {0, 1, 7, 31, 33, 257};

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
          converted.push_back(common_to(from, to, count, device).to(to));
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
      Results reduced = reductions(dtype, device);
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
