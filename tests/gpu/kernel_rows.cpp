// Programs of kernels that work row by row: losses, norms, attention.
#include "tests/gpu/kernel_programs.hpp"

namespace lockstep::test {
namespace {

// A number whose exponential overflows.
double steepness(DType dtype) { return dtype == DType::float64 ? 1000 : 200; }

// Softmax does not see what all logits have in common; it overflows where the largest is not taken
// from them.
Results steep(std::int64_t rows, std::int64_t classes, DType dtype, Device& device) {
  const Tensor logits = ops::scale(noise({rows, classes}, dtype, device), 0.3 * steepness(dtype));
  const auto [loss, probabilities] =
      ops::cross_entropy(logits, drawn_indices(rows, classes, device));
  return {ops::softmax(logits), loss, probabilities};
}

// Rows of a single large number, in each lane and turn of a team: where it is overlooked, its
// exponential overflows, and another row is counted.
Results peaks(std::int64_t classes, DType dtype, Device& device) {
  std::vector<double> places;
  for (const std::int64_t place :
       {0,   1,   2,   4,   8,   16,  31,  33,   64,   100,  128,  146,  160,  200,
        255, 256, 300, 512, 600, 768, 900, 1024, 1100, 1154, 1280, 1400, 1536, 1599}) {
    if (place < classes) places.push_back(static_cast<double>(place));
  }
  const std::int64_t rows = std::ssize(places);
  std::vector<double> values(static_cast<std::size_t>(rows * classes));
  for (std::int64_t r = 0; r < rows; ++r) {
    const double place = places[static_cast<std::size_t>(r)];
    values[static_cast<std::size_t>(r * classes) + static_cast<std::size_t>(place)] =
        steepness(dtype);
  }
  const Tensor logits = from_values(values, {rows, classes}, dtype, device);
  const Tensor labels = integers(places, device);
  const auto [loss, probabilities] = ops::cross_entropy(logits, labels);
  const auto correct = static_cast<double>(ops::count_correct(logits, labels));
  const ops::ColumnSplit all{0, classes, classes};
  const Tensor maximum = ops::row_maximum(logits, all);
  return {maximum,       ops::sum_of_exponentials(logits, maximum, all), ops::softmax(logits), loss,
          probabilities, full({1}, correct, DType::float64, device)};
}

// Of rows with many equal numbers, the first largest is meant.
Results counted(std::int64_t rows, std::int64_t classes, DType dtype, Device& device) {
  CpuDevice cpu;
  Tensor logits = noise({rows, classes}, dtype, cpu).to(DType::int64).to(dtype);
  // With something in the lower halves of their bits, which shuffles carry by themselves.
  if (dtype == DType::float64) logits = ops::scale(logits, 1 + 0x1p-30);
  Results all;
  for (const std::int64_t off : {0, 1, -1}) {
    std::vector<double> labels;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < classes; ++c) {
        if (logits.item(r * classes + c) > logits.item(r * classes + best)) best = c;
      }
      labels.push_back(static_cast<double>((best + off + classes) % classes));
    }
    const auto correct = ops::count_correct(to_device(logits, device), integers(labels, device));
    all.push_back(full({1}, static_cast<double>(correct), DType::float64, device));
  }
  return all;
}

// Two sequences of two heads, of which only the first head of the first sequence has numbers: what
// reads a row or a column too many brings a NaN among them, even where it is multiplied by 0.
Results lone_head(std::int64_t tokens, std::int64_t size, DType dtype, Device& device) {
  const auto alone = [&](std::int64_t heads, std::uint64_t stream) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < 2 * tokens * heads * size; ++i) {
      const bool has_number = i < tokens * heads * size && i / size % 2 == 0;
      values.push_back(has_number ? random_uniform(stream, static_cast<std::uint64_t>(i))
                                  : std::nan(""));
    }
    return from_values(values, {2, tokens, heads * size}, dtype, device);
  };
  const Tensor qkv = alone(6, 1), grad = alone(2, 2);
  const auto forward = ops::causal_attention(qkv, 2);
  return {forward.output, forward.log_sums, ops::causal_attention_backward(grad, qkv, forward, 2)};
}

// Scores of some hundreds, and whole numbers, so that they are exact in any order if the size is a
// power of 4: the exponential of one that is not first brought near 0 is infinite, or nothing, and
// so is that of all others if one more is taken for the largest.
Results sharp_head(std::int64_t tokens, std::int64_t size, DType dtype, Device& device) {
  const auto whole = [&](Shape shape, std::uint64_t stream) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < numel_of(shape); ++i) {
      values.push_back(
          static_cast<double>(random_bits(stream, static_cast<std::uint64_t>(i)) % 101) - 50);
    }
    return from_values(values, std::move(shape), dtype, device);
  };
  const Tensor qkv = whole({1, tokens, 3 * size}, 1), grad = whole({1, tokens, size}, 2);
  const auto forward = ops::causal_attention(qkv, 1);
  return {forward.output, forward.log_sums, ops::causal_attention_backward(grad, qkv, forward, 1)};
}

}  // namespace

// Columns and padding of a split. Its columns end in each of a lane's turns, of which the compiler
// takes up to three first and then four at a time.
struct EndOfTurn {
  std::int64_t columns, padding;
};
constexpr EndOfTurn ends_of_turns[] = {{10, 3},  {40, 3},   {70, 3},  {10, 110}, {40, 80},
                                       {70, 50}, {100, 30}, {140, 3}, {200, 3}};
constexpr EndOfTurn ends_of_turns_of_blocks[] = {{300, 1200}, {600, 1100},  {300, 750}, {600, 480},
                                                 {1155, 3},   {1155, 1024}, {1600, 3},  {1900, 3}};

Results all_losses(DType dtype, Device& device) {
  Results all;
  for (const std::int64_t classes : {147, 208, 128}) {
    append(all, losses(9, classes, dtype, device));
    append(all, steep(9, classes, dtype, device));
    append(all, counted(9, classes, dtype, device));
    append(all, peaks(classes, dtype, device));
  }
  const auto none =
      ops::cross_entropy(noise({0, 3}, dtype, device), integers({}, device), {ops::Reduction::sum});
  all.push_back(none.loss);
  append(all, split_losses(0, 3, dtype, device));
  append(all, split_losses(9, 2 * 147, dtype, device));
  for (const auto& [columns, padding] : ends_of_turns) {
    append(all, split_losses(9, 2 * columns, dtype, device, padding));
  }
  for (const std::int64_t rows : {2048, 2052, 2148, 2055, 770, 600}) {
    append(all, losses(rows, 3, dtype, device));
    append(all, split_losses(rows, 6, dtype, device));
  }
  return all;
}

Results long_losses(DType dtype, Device& device) {
  Results all;
  for (const auto& [columns, padding] : ends_of_turns_of_blocks) {
    append(all, split_losses(3, 2 * columns, dtype, device, padding));
  }
  for (const std::int64_t classes : {1155, 1600}) {
    append(all, losses(3, classes, dtype, device));
    append(all, steep(3, classes, dtype, device));
    append(all, counted(3, classes, dtype, device));
    append(all, peaks(classes, dtype, device));
  }
  return all;
}

Results norms_of(std::initializer_list<std::pair<std::int64_t, std::int64_t>> sizes, DType dtype,
                 Device& device) {
  Results all;
  for (const auto& [rows, columns] : sizes) append(all, norms(rows, columns, dtype, device));
  return all;
}

Results again(DType dtype, Device& device) {
  Results all;
  for (const std::int64_t columns : {147, 208, 128, 96, 31, 1155, 1600, 1024}) {
    append(all, norms_again(9, columns, dtype, device));
  }
  return all;
}

// Sequences that end in each of the places where a tile is read.
Results attentions(DType dtype, Device& device) {
  Results all;
  for (const Attended& of : {Attended{2, 37, 3, 4}, Attended{1, 1, 1, 4}, Attended{1, 8, 1, 31},
                             Attended{1, 12, 1, 5}, Attended{1, 15, 1, 4}, Attended{1, 19, 1, 4},
                             Attended{1, 23, 1, 4}, Attended{1, 26, 1, 4}, Attended{1, 32, 1, 4}}) {
    append(all, attention(of, dtype, device));
  }
  for (const std::int64_t tokens : {2, 6, 10, 14}) append(all, lone_head(tokens, 5, dtype, device));
  for (const AttendedBlock& of : blocks_at_edges(1, 5)) {
    append(all, attention_to_block(of, dtype, device));
  }
  append(all, sharp_head(37, 4, dtype, device));
  return all;
}

// Of heads of less and of more numbers than a block has threads; a query here and there has no key
// in the block that comes, in what is there, or in both.
Results merged_blocks(DType dtype, Device& device) {
  Results all;
  for (const auto& [tokens, size] : {std::pair<std::int64_t, std::int64_t>{7, 3}, {2, 67}}) {
    const auto made = [&](std::int64_t period) {
      std::vector<double> sums;
      for (std::int64_t i = 0; i < 2 * 3 * tokens; ++i) {
        const double size_of_all = 30 * (2 * random_uniform(9, static_cast<std::uint64_t>(i)) - 1);
        sums.push_back(i % period == 1 ? -std::numeric_limits<double>::infinity() : size_of_all);
      }
      const DType wide = dtype == DType::float64 ? dtype : DType::float32;
      return ops::Attention{noise({2, tokens, 3 * size}, dtype, device),
                            from_values(sums, {2, 3, tokens}, wide, device)};
    };
    const ops::Attention into = made(3), block = made(4);
    ops::merge_attention(into, block);
    append(all, {into.output, into.log_sums});
  }
  return all;
}

// More columns than a warp, in numbers that its lanes share in several ways. Sequences end in each
// of the places where a tile is read, in sizes whose next row lies outside any allocation.
Results wide_heads(DType dtype, Device& device) {
  Results all;
  for (const std::int64_t size : {40, 100, 128}) {
    append(all, attention({1, 2, 1, size}, dtype, device));
  }
  for (const auto& [tokens, size] : {std::pair<std::int64_t, std::int64_t>{1, 33},
                                     {3, 33},
                                     {5, 33},
                                     {7, 33},
                                     {1, 65},
                                     {2, 76},
                                     {3, 65},
                                     {4, 65}}) {
    append(all, attention({1, tokens, 1, size}, dtype, device));
    append(all, lone_head(tokens, size, dtype, device));
  }
  for (const std::int64_t size : {40, 65}) {
    for (const AttendedBlock& of : blocks_at_edges(1, size)) {
      append(all, attention_to_block(of, dtype, device));
    }
  }
  return all;
}

// Several tiles of keys.
Results wide_heads_of_many(DType dtype, Device& device) {
  Results all;
  for (const Attended& of :
       {Attended{1, 40, 2, 64}, Attended{1, 70, 1, 100}, Attended{1, 40, 2, 128}}) {
    append(all, attention(of, dtype, device));
  }
  return all;
}

// By cuBLAS's products: rows of less and of more than a warp, of three turns and four, and a second
// block of them.
Results widest_heads(DType dtype, Device& device) {
  Results all;
  for (const Attended& of : {Attended{1, 37, 2, 129}, Attended{1, 259, 1, 129},
                             Attended{1, 100, 1, 129}, Attended{1, 20, 1, 129}}) {
    append(all, attention(of, dtype, device));
  }
  for (const AttendedBlock& of : blocks_at_edges(1, 129)) {
    append(all, attention_to_block(of, dtype, device));
  }
  return all;
}

Results sharp_heads(DType dtype, Device& device) { return sharp_head(150, 256, dtype, device); }

}  // namespace lockstep::test
