// Operations whose sums the CPU takes in an order of its own: near its results, and why so near.
// A sum of n terms is off by some √n units of its largest partial sum in either order; rows have at
// most 1,100 terms here, of one size, so that 8 to 16 units of float32 or float64 are allowed. A
// half is computed in float32 and rounded once: the two may round to neighbours, one unit apart,
// and where halves go into a second operation, each of them may bring one.
#include "tests/gpu/kernel_mutations.hpp"
#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// `wide` units of float32 or float64, or one of a half.
Units rounded_once(DType dtype, double wide, double magnitude = 0) {
  return {is_half(dtype) ? 1.0 : wide, magnitude};
}

constexpr std::int64_t widths[] = {1, 5, 8, 33, 130};
constexpr std::int64_t block_width = 1100;  // more than a warp takes

}  // namespace

// Both sides approximate the exponential to 2 units; a slope has two factors of it. Where it is
// flat, 1 - t² leaves the rounding of numbers near 1, times a gradient of up to 2.
TEST_CASE("gpu: activations and their slopes are the CPU's to a few units") {
  OnPaper paper;
  for (const DType dtype : computed) {
    for (const std::int64_t count : {1, 33, 257}) {
      check_beside(paper, text(count, " of ", name_of(dtype)),
                   [&](Device& device) { return activations(count, dtype, device); },
                   {rounded_once(dtype, 8, 2)});
    }
  }
}

// 6,600 terms between -2 and 2 come to partial sums of some 90, whatever is left of them at the
// end.
TEST_CASE("gpu: sums over any axes are the CPU's to a few units") {
  OnPaper paper;
  for (const DType dtype : computed) {
    check_beside(paper, std::string(name_of(dtype)),
                 [&](Device& device) { return sums(dtype, device); }, {rounded_once(dtype, 8, 90)});
  }
}

TEST_CASE("gpu: softmax and the loss are the CPU's to a few units, by warps and by blocks") {
  OnPaper paper;
  for (const DType dtype : computed) {
    // Probabilities that were rounded to halves go into the derivatives: two units. The loss, third
    // and sixth, is float32 then.
    const Units of_rows = is_half(dtype) ? Units{2} : Units{16}, of_loss{16};
    const std::vector<Units> units{of_rows, of_rows, of_loss, of_rows, of_rows, of_loss, of_rows};
    for (const std::int64_t classes : widths) {
      check_beside(
          paper, text("9 rows of ", classes, " ", name_of(dtype)),
          [&](Device& device) { return losses(9, classes, dtype, device); }, units);
    }
    check_beside(
        paper, text("3 rows of ", block_width, " ", name_of(dtype)),
        [&](Device& device) { return losses(3, block_width, dtype, device); }, units);
  }
}

// Sums are of half a row; the losses and gradients are made of them.
TEST_CASE("gpu: the loss of split rows is the CPU's to a few units, by warps and by blocks") {
  OnPaper paper;
  for (const DType dtype : computed) {
    const Units of_rows = rounded_once(dtype, 16), of_statistics{16};
    const std::vector<Units> units{same_bits, same_bits, of_statistics, same_bits, of_statistics,
                                   of_rows,   of_rows,   of_statistics, of_rows,   of_rows};
    for (const std::int64_t classes : widths) {
      check_beside(
          paper, text("9 rows of ", classes, " ", name_of(dtype)),
          [&](Device& device) { return split_losses(9, classes, dtype, device); }, units);
    }
    check_beside(
        paper, text("3 rows of ", 2 * block_width, " ", name_of(dtype)),
        [&](Device& device) { return split_losses(3, 2 * block_width, dtype, device); }, units);
  }
}

// A row of one column is its own mean, so that what is left after it is nothing but rounding.
TEST_CASE("gpu: norms are the CPU's to a few units, by warps and by blocks") {
  OnPaper paper;
  for (const DType dtype : computed) {
    const Units of_rows = rounded_once(dtype, 16), of_statistics{16};
    const std::vector<Units> units{of_rows, of_statistics, of_statistics,
                                   of_rows, of_statistics, of_rows};
    for (const std::int64_t columns : widths) {
      check_beside(
          paper, text("9 rows of ", columns, " ", name_of(dtype)),
          [&](Device& device) { return norms(9, columns, dtype, device); }, units);
    }
    check_beside(
        paper, text("150 rows of 5 ", name_of(dtype)),
        [&](Device& device) { return norms(150, 5, dtype, device); }, units);
    check_beside(
        paper, text("3 rows of ", block_width, " ", name_of(dtype)),
        [&](Device& device) { return norms(3, block_width, dtype, device); }, units);
  }
}

TEST_CASE("gpu: a norm computed again from what was kept has the same bits") {
  OnPaper paper;
  Device& device = paper.device();
  for (const DType dtype : computed) {
    for (const std::int64_t columns : {1, 33, 1100}) {
      const Tensor x = noise({3, columns}, dtype, device);
      const Tensor weight = noise({columns}, dtype, device, 1);
      const Tensor bias = noise({columns}, dtype, device, 2);
      const auto layer = ops::layer_norm(x, weight, bias, 1e-5);
      const auto rms = ops::rms_norm(x, weight, 1e-5);
      const Results both{layer.y,
                         ops::normalize_again(x, weight, bias, layer.mean, layer.inverse_deviation),
                         rms.y, ops::normalize_again(x, weight, {}, {}, rms.inverse_deviation)};
      const auto seen = to_host(both);
      CHECK(too_far(seen[1], seen[0], same_bits) == "");
      CHECK(too_far(seen[3], seen[2], same_bits) == "");
    }
  }
  CHECK(paper.findings() == "");
}

TEST_CASE("gpu: products of every transposition are the CPU's to a few units") {
  OnPaper paper;
  for (const DType dtype : computed) {
    check_beside(paper, std::string(name_of(dtype)),
                 [&](Device& device) { return products(dtype, device); }, {rounded_once(dtype, 8)});
  }
}

// Scores are differences of exponents, so that their rounding counts several times: 16 units. The
// gradient takes an output that was rounded to halves.
TEST_CASE("gpu: causal attention is the CPU's to some units, at the edges of its tiles") {
  OnPaper paper;
  for (const DType dtype : computed) {
    const Units units = is_half(dtype) ? Units{2} : Units{16};
    const std::vector<Units> of_results{units, Units{16}, units};
    for (const Attended& of :
         {Attended{2, 37, 3, 4}, Attended{1, 1, 1, 5}, Attended{1, 33, 1, 33},
          Attended{1, 40, 1, 64}, Attended{1, 70, 1, 100}, Attended{1, 40, 2, 128}}) {
      check_beside(
          paper, text(of.tokens, " tokens, heads of ", of.head_size, " ", name_of(dtype)),
          [&](Device& device) { return attention(of, dtype, device); }, of_results);
    }
  }
}

// Heads of more than 128 numbers. A weight of halves is rounded to a half before it is multiplied.
TEST_CASE(
    "gpu: causal attention by cuBLAS's products is the CPU's to some units, in blocks of rows") {
  OnPaper paper;
  for (const DType dtype : computed) {
    const Units units = is_half(dtype) ? Units{2} : Units{16};
    const std::vector<Units> of_results{units, Units{16}, units};
    for (const Attended& of : {Attended{2, 37, 3, 129}, Attended{1, 1, 1, 200},
                               Attended{2, 256, 1, 130}, Attended{1, 259, 2, 136}}) {
      check_beside(
          paper, text(of.tokens, " tokens, heads of ", of.head_size, " ", name_of(dtype)),
          [&](Device& device) { return attention(of, dtype, device); }, of_results);
    }
  }
}

TEST_CASE("gpu: attention to a block is the CPU's, and what sees nothing gets 0 and -∞") {
  OnPaper paper;
  for (const DType dtype : computed) {
    const Units units = is_half(dtype) ? Units{2} : Units{16};
    const std::vector<Units> of_results{units, Units{16}, units};
    for (const std::int64_t head_size : {4, 64, 100, 130}) {
      for (const AttendedBlock& of : blocks_at_edges(head_size > 64 ? 1 : 2, head_size)) {
        check_beside(
            paper,
            text("heads of ", head_size, ", positions from ", of.queries.early.first,
                 " to keys from ", of.keys.early.first, " ", name_of(dtype)),
            [&](Device& device) { return attention_to_block(of, dtype, device); }, of_results);
      }
    }
  }
  const AttendedBlock long_one{1, 130, {{300, 270}}, {{0, 100}, {400, 300}}};
  check_beside(paper, "blocks of 256",
               [&](Device& device) { return attention_to_block(long_one, DType::float32, device); },
               {Units{16}});
}

// The rule of attention_heads.cuh: T·C is 2¹⁹ for 256 tokens of 2,048 numbers.
TEST_CASE("gpu: causal attention takes tiles for short rows, and products for long ones",
          "[paper]") {
  for (const std::int64_t tokens : {255, 256}) {
    CAPTURE(tokens);
    OnPaper paper;
    auto before = counted_on_paper();
    check_beside(paper, "forward",
                 [&](Device& device) {
                   const Tensor qkv = noise({1, tokens, 3 * 2048}, DType::float32, device);
                   const auto [output, log_sums] = ops::causal_attention(qkv, 16);
                   return Results{output, log_sums};
                 },
                 {Units{16}});
    std::int64_t tiles = 0, products = 0;
    for (const auto& [kernel, now] : counted_on_paper()) {
      const auto launches = static_cast<std::int64_t>(now.launches - before[kernel].launches);
      if (kernel.starts_with("attend<")) tiles += launches;
      if (kernel.starts_with("causal_softmax_rows<")) products += launches;
    }
    CHECK(tiles == (tokens == 255 ? 1 : 0));
    CHECK(products == (tokens == 255 ? 0 : 1));
  }
}

TEST_CASE("gpu: no token sees a later one, and another order of warps changes no bit") {
  Results before;
  for (const char* seed : {"seed=1", "seed=2"}) {
    OnPaper paper({seed});
    Device& device = paper.device();
    const Tensor x = noise({1, 40, 3 * 8}, DType::float32, device);
    const Tensor other = x.clone();
    other.view({40, 24}).narrow(39, 1).fill_(9);
    const auto a = ops::causal_attention(x, 2), b = ops::causal_attention(other, 2);
    const Tensor grad = noise({1, 40, 8}, DType::float32, device, 1);
    Results seen = to_host(Results{a.output.view({40, 8}).narrow(0, 39).clone(),
                                   b.output.view({40, 8}).narrow(0, 39).clone(), a.log_sums,
                                   ops::causal_attention_backward(grad, x, a, 2)});
    CHECK(too_far(seen[1], seen[0], same_bits) == "");
    for (std::size_t i = 0; i < before.size(); ++i)
      CHECK(too_far(seen[i], before[i], same_bits) == "");
    before = std::move(seen);
    CHECK(paper.findings() == "");
  }
}
