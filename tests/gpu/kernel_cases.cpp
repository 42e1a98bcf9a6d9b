// Compilers make loops of four at once, and a rest, of most loops: sizes are such that a thread has
// two, three, four, five and more turns.
#include "tests/gpu/kernel_cases.hpp"

#include "tests/gpu/programs.hpp"

namespace lockstep::test {
namespace {

constexpr DType f32 = DType::float32;
// Four or five turns of a block's 256 threads.
constexpr std::int64_t in_packets = 4611, between_packets = 1155;

KernelCase beside_cpu(const char* name, const Program& program, Units units = same_bits) {
  return {name, [=](OnPaper& paper) { check_beside(paper, name, program, {units}); }};
}

void append(Results& all, const Results& more) { all.insert(all.end(), more.begin(), more.end()); }

Tensor window(std::int64_t count, Device& device, std::uint64_t stream) {
  return noise({3 + count}, f32, device, stream).narrow(3, count);
}

Results moves(Device& device) {
  Results all = movements(f32, device);
  for (const std::int64_t columns : {36, 18, 9}) {  // in units of 16, 8 and 4 bytes
    const Tensor x = noise({4, 33, columns}, f32, device);
    append(all, {ops::narrow(x, 1, 1, 32), ops::transpose(x, 0, 1), ops::transpose(x, 0, 2),
                 ops::transpose(ops::narrow(x, 1, 0, 32).view({4, 4, 8, columns}), 1, 2)});
  }
  // Tiles that end in each of the places where a block reads and writes.
  for (const auto& [a, b] : {std::pair{12, 20}, {20, 28}, {28, 12}, {3, 40}, {40, 3}, {32, 32}}) {
    append(all, {ops::transpose(noise({a, b}, f32, device), 0, 1),
                 ops::transpose(noise({a, b, 4}, f32, device), 0, 1)});
  }
  return all;
}

Results elements(Device& device) {
  Results all = element_by_element(f32, device, 96);
  const auto add = [&](const Tensor& a, const Tensor& b) {
    append(all, {ops::add(a, b), ops::subtract(a, b), ops::multiply(a, b), ops::scale(a, 0.3)});
  };
  add(noise({in_packets}, f32, device), noise({in_packets}, f32, device, 1));
  add(window(between_packets, device, 2), window(between_packets, device, 3));
  for (const ReduceOp op : all_reduce_ops) {
    all.push_back(noise({in_packets}, f32, device));
    all.back().reduce_(noise({in_packets}, f32, device, 1), op);
    all.push_back(window(between_packets, device, 2));
    all.back().reduce_(window(between_packets, device, 3), op);
  }
  for (const Tensor& each :
       {zeros({in_packets}, f32, device), window(between_packets, device, 4),
        zeros({2309}, DType::float64, device), zeros({2309}, DType::int64, device)}) {
    each.fill_(3);
    all.push_back(each);
  }
  const Tensor four = noise({4, 256}, f32, device);  // turns of a block
  for (const Tensor& other : {noise({1}, f32, device, 1), noise({256}, f32, device, 1)}) {
    append(all, {ops::add(four, other), ops::subtract(four, other), ops::multiply(four, other)});
  }
  // A rest of three turns of a block.
  all.push_back(ops::add(noise({7, 256}, f32, device), noise({256}, f32, device, 1)));
  all.push_back(window(7 * 256, device, 4));
  all.back().fill_(0.75);
  all.push_back(ops::sum_rows(noise({0, 300}, f32, device)));
  all.push_back(ops::sum_rows(noise({0, 128}, f32, device)));  // four turns of a block's 32 threads
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 15, 16}) {
    all.push_back(ops::sum_rows(noise({rows, 131}, f32, device)));
  }
  return all;
}

Results squares(Device& device) {
  Results all = global_norms(f32, device);
  const Tensor one[] = {noise({between_packets}, f32, device)};
  const Tensor last[] = {full({1}, std::nan(""), f32, device)};
  append(all, {ops::sum_of_squares(one), ops::unscale_(one, 0.5), one[0], ops::unscale_(last, 2)});
  return all;
}

Results gathers(Device& device) {
  Results all = rows_by_number(130, f32, device);
  append(all, rows_by_number(5, f32, device));
  all.push_back(ops::embedding(noise({6, 130}, f32, device), drawn_indices(9, 6, device)));
  return all;
}

Results sums_of_axes(Device& device) {
  Results all = sums(f32, device);
  const Tensor x = noise({2, 3, 2, 3, 2, 3, 2, 3}, f32, device);
  append(all, {ops::sum_to(x, {2, 1, 2, 1, 2, 1, 2, 1}), ops::sum_to(x, {1, 3, 1, 3, 1, 3, 1, 3}),
               ops::sum_to(x, {2, 1, 2, 1, 2, 1, 1, 1}), ops::sum_to(x, {1, 1, 1, 3, 1, 3, 1, 3}),
               ops::sum_to(x, {2, 1, 2, 1, 1, 1, 1, 1}), ops::sum_to(x, {1, 1, 1, 1, 1, 3, 1, 3})});
  const Tensor y = noise({3, 2, 3, 2, 3, 2, 3, 2}, f32, device);
  const Tensor z = noise({2, 5, 2, 5, 2, 5, 2, 5}, f32, device);
  append(all, {ops::sum_to(y, {1, 2, 1, 2, 1, 2, 1, 2}), ops::sum_to(y, {1, 1, 1, 2, 1, 2, 1, 2}),
               ops::sum_to(y, {1, 1, 1, 1, 1, 2, 1, 2}), ops::sum_to(z, {2, 1, 2, 1, 2, 1, 2, 1}),
               ops::sum_to(z, {1, 1, 2, 1, 2, 1, 2, 1}), ops::sum_to(z, {1, 1, 1, 1, 2, 1, 2, 1}),
               ops::sum_to(noise({2, 6, 2, 6, 2, 6, 2, 6}, f32, device), {2, 1, 2, 1, 2, 1, 2, 1}),
               ops::sum_to(noise({2, 11, 2, 11, 2, 11}, f32, device), {2, 1, 2, 1, 2, 1}),
               ops::sum_to(noise({2, 34, 2, 34}, f32, device), {2, 1, 2, 1})});
  // One to four axes, whose terms leave a rest of three turns: of a thread, a warp, a block.
  const auto add = [&](const Shape& from, const Shape& to) {
    all.push_back(ops::sum_to(noise(from, f32, device), to));
  };
  add({3, 2, 5, 2}, {1, 2, 1, 2});
  add({3, 2, 3, 2, 3, 2}, {1, 2, 1, 2, 1, 2});
  add({3, 2, 3, 2, 3, 2, 5, 2}, {1, 2, 1, 2, 1, 2, 1, 2});
  for (const std::int64_t by : {1, 8}) {
    add({2, 16, 2, 14 * by}, {2, 1, 2, 1});
    add({2, 4, 2, 4, 2, 14 * by}, {2, 1, 2, 1, 2, 1});
    add({2, 7, 2, 4, 2, 4, 2, 2 * by}, {2, 1, 2, 1, 2, 1, 2, 1});
  }
  for (const std::int64_t terms : {2, 3, 4, 5, 6, 7, 8, 9}) {
    all.push_back(ops::sum_to(noise({terms, 300}, f32, device), {300}));
    all.push_back(ops::sum_to(noise({30, 32 * terms + 16}, f32, device), {30, 1}));
  }
  all.push_back(ops::sum_to(noise({3, 256 * 6 + 64}, f32, device), {3, 1}));
  return all;
}

// Softmax does not see what all logits have in common; it overflows where the largest is not taken
// from them.
Results steep(std::int64_t rows, std::int64_t classes, Device& device) {
  const Tensor logits = ops::scale(noise({rows, classes}, f32, device), 60);
  const auto [loss, probabilities] =
      ops::cross_entropy(logits, drawn_indices(rows, classes, device));
  return {ops::softmax(logits), loss, probabilities};
}

// Rows of a single large number, in each lane and turn of a team: where it is overlooked, its
// exponential overflows, and another row is counted.
Results peaks(std::int64_t classes, Device& device) {
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
    values[static_cast<std::size_t>(r * classes) + static_cast<std::size_t>(place)] = 200;
  }
  const Tensor logits = from_values(values, {rows, classes}, f32, device);
  const Tensor labels = integers(places, device);
  const auto [loss, probabilities] = ops::cross_entropy(logits, labels);
  const auto correct = static_cast<double>(ops::count_correct(logits, labels));
  return {ops::softmax(logits), loss, probabilities, full({1}, correct, DType::float64, device)};
}

// Of rows with many equal numbers, the first largest is meant.
Results counted(std::int64_t rows, std::int64_t classes, Device& device) {
  CpuDevice cpu;
  const Tensor logits = noise({rows, classes}, f32, cpu).to(DType::int64).to(f32);
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

Results all_losses(Device& device) {
  Results all;
  for (const std::int64_t classes : {147, 208, 128}) {
    append(all, losses(9, classes, f32, device));
    append(all, steep(9, classes, device));
    append(all, counted(9, classes, device));
    append(all, peaks(classes, device));
  }
  const auto none =
      ops::cross_entropy(noise({0, 3}, f32, device), integers({}, device), {ops::Reduction::sum});
  all.push_back(none.loss);
  for (const std::int64_t rows : {2048, 2052, 2148, 2055, 770, 600}) {
    append(all, losses(rows, 3, f32, device));
  }
  return all;
}

Results long_losses(Device& device) {
  Results all;
  for (const std::int64_t classes : {1155, 1600}) {
    append(all, losses(3, classes, f32, device));
    append(all, steep(3, classes, device));
    append(all, counted(3, classes, device));
    append(all, peaks(classes, device));
  }
  return all;
}

Results norms_of(std::initializer_list<std::pair<std::int64_t, std::int64_t>> sizes,
                 Device& device) {
  Results all;
  for (const auto& [rows, columns] : sizes) append(all, norms(rows, columns, f32, device));
  return all;
}

Results again(Device& device) {
  Results all;
  for (const std::int64_t columns : {147, 208, 128, 96, 31, 1155, 1600, 1024}) {
    append(all, norms_again(9, columns, f32, device));
  }
  return all;
}

// Sequences that end in each of the places where a tile is read.
Results attentions(Device& device) {
  Results all;
  for (const Attended& of : {Attended{2, 37, 3, 4}, Attended{1, 1, 1, 4}, Attended{1, 8, 1, 31},
                             Attended{1, 12, 1, 5}, Attended{1, 15, 1, 4}, Attended{1, 19, 1, 4},
                             Attended{1, 23, 1, 4}, Attended{1, 26, 1, 4}, Attended{1, 32, 1, 4}}) {
    append(all, attention(of, f32, device));
  }
  return all;
}

// More columns than a warp, in numbers that its lanes share in several ways.
Results wide_heads(Device& device) {
  Results all;
  for (const std::int64_t size : {40, 100, 128}) {
    append(all, attention({1, 2, 1, size}, f32, device));
  }
  return all;
}

// By cuBLAS's products: rows of less and of more than a warp, of three turns and four, and a second
// block of them.
Results widest_heads(Device& device) {
  Results all;
  for (const Attended& of : {Attended{1, 37, 2, 129}, Attended{1, 259, 1, 129},
                             Attended{1, 100, 1, 129}, Attended{1, 20, 1, 129}}) {
    append(all, attention(of, f32, device));
  }
  return all;
}

// Scores of some hundreds, and whole numbers, so that they are exact in any order: the exponential
// of one that is not first brought near 0 is infinite, or nothing.
Results sharp_heads(Device& device) {
  constexpr std::int64_t size = 256, tokens = 150;
  const auto whole = [&](Shape shape, std::uint64_t stream) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < numel_of(shape); ++i) {
      values.push_back(
          static_cast<double>(random_bits(stream, static_cast<std::uint64_t>(i)) % 101) - 50);
    }
    return from_values(values, std::move(shape), f32, device);
  };
  const Tensor qkv = whole({1, tokens, 3 * size}, 1), grad = whole({1, tokens, size}, 2);
  const auto forward = ops::causal_attention(qkv, 1);
  return {forward.output, forward.log_sums, ops::causal_attention_backward(grad, qkv, forward, 1)};
}

}  // namespace

const std::vector<KernelCase>& kernel_cases() {
  static const std::vector<KernelCase> all{
      beside_cpu("movement", moves),
      beside_cpu("elements", elements),
      beside_cpu("broadcasts", [](Device& device) { return broadcasts(f32, device); }),
      beside_cpu("conversions", [](Device& device) { return conversions(f32, 1155, device); }),
      beside_cpu("squares", squares),
      beside_cpu("updates", [](Device& device) { return updates(between_packets, f32, device); }),
      beside_cpu("gather", gathers),
      beside_cpu("activations", [](Device& device) { return activations(in_packets, f32, device); },
                 {8, 2}),
      beside_cpu("activations between packets",
                 [](Device& device) { return activations(between_packets, f32, device, 3); },
                 {8, 2}),
      beside_cpu("sums", sums_of_axes, {8, 90}),
      beside_cpu("losses", all_losses, {16}),
      beside_cpu("long losses", long_losses, {16}),
      beside_cpu("norms",
                 [](Device& device) {
                   return norms_of({{9, 147}, {9, 208}, {9, 128}}, device);
                 },
                 {16}),
      beside_cpu("many norms",
                 [](Device& device) {
                   return norms_of({{330, 5},
                                    {256, 35},
                                    {448, 3},
                                    {300, 3},
                                    {512, 35},
                                    {67, 3},
                                    {4, 3},
                                    {0, 300},
                                    {0, 128}},
                                   device);
                 },
                 {16}),
      beside_cpu("long norms",
                 [](Device& device) {
                   return norms_of({{3, 1155}, {3, 1600}}, device);
                 },
                 {16}),
      beside_cpu("norms again", again, {16}),
      beside_cpu("attention", attentions, {16}),
      beside_cpu("wide heads", wide_heads, {16}),
      beside_cpu("widest heads", widest_heads, {16}),
      beside_cpu("sharp heads", sharp_heads, {16}),
      {"checksums", check_checksums},
      {"faults", check_faults},
      {"faulty conversions", check_conversions},
      {"outside", check_outside},
  };
  return all;
}

}  // namespace lockstep::test
