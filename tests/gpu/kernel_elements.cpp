// Programs of kernels that work element by element, move, or sum over axes.
#include "tests/gpu/kernel_programs.hpp"

namespace lockstep::test {
namespace {

Tensor window(std::int64_t count, DType dtype, Device& device, std::uint64_t stream) {
  return noise({3 + count}, dtype, device, stream).narrow(3, count);
}

}  // namespace

Results moves(DType dtype, Device& device) {
  Results all = movements(dtype, device);
  for (const std::int64_t columns : {36, 18, 9}) {  // in units of 16, 8 and 4 bytes
    const Tensor x = noise({4, 33, columns}, dtype, device);
    append(all, {ops::narrow(x, 1, 1, 32), ops::transpose(x, 0, 1), ops::transpose(x, 0, 2),
                 ops::transpose(ops::narrow(x, 1, 0, 32).view({4, 4, 8, columns}), 1, 2)});
  }
  // Tiles that end in each of the places where a block reads and writes.
  for (const auto& [a, b] : {std::pair{12, 20}, {20, 28}, {28, 12}, {3, 40}, {40, 3}, {32, 32}}) {
    append(all, {ops::transpose(noise({a, b}, dtype, device), 0, 1),
                 ops::transpose(noise({a, b, 4}, dtype, device), 0, 1)});
  }
  return all;
}

Results elements(DType dtype, Device& device) {
  Results all = element_by_element(dtype, device, 96);
  const auto add = [&](const Tensor& a, const Tensor& b) {
    append(all, {ops::add(a, b), ops::subtract(a, b), ops::multiply(a, b), ops::scale(a, 0.3)});
  };
  add(noise({in_packets(dtype)}, dtype, device), noise({in_packets(dtype)}, dtype, device, 1));
  for (const std::int64_t count : {between_packets, std::int64_t{300}}) {
    add(window(count, dtype, device, 2), window(count, dtype, device, 3));
  }
  append(all, reductions(dtype, device));
  for (const Tensor& each :
       {zeros({in_packets(dtype)}, dtype, device), window(between_packets, dtype, device, 4),
        zeros({2309}, DType::float64, device), zeros({2309}, DType::int64, device)}) {
    each.fill_(3);
    all.push_back(each);
  }
  const Tensor four = noise({4, 256}, dtype, device);  // turns of a block
  for (const Tensor& other : {noise({1}, dtype, device, 1), noise({256}, dtype, device, 1)}) {
    append(all, {ops::add(four, other), ops::subtract(four, other), ops::multiply(four, other)});
  }
  const Tensor two = noise({2, 151}, dtype, device), row = noise({151}, dtype, device, 1);
  append(all, {ops::add(two, row), ops::subtract(two, row), ops::multiply(two, row)});
  // A rest of three turns of a block.
  all.push_back(ops::add(noise({7, 256}, dtype, device), noise({256}, dtype, device, 1)));
  all.push_back(window(7 * 256, dtype, device, 4));
  all.back().fill_(0.75);
  all.push_back(ops::sum_rows(noise({0, 300}, dtype, device)));
  all.push_back(
      ops::sum_rows(noise({0, 128}, dtype, device)));  // four turns of a block's 32 threads
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 15, 16}) {
    all.push_back(ops::sum_rows(noise({rows, 131}, dtype, device)));
  }
  return all;
}

// Numbers at the ends of their type, in each place of a packet and each turn of a thread. A sum
// and a product reach infinity.
Results ends(DType dtype, Device& device) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double most = dtype == DType::float16 ? 65'504 : 0x1.fep127;
  const std::vector<double> all_ends{infinite, -infinite, most, -most, 0x1p-14, 0x1p-24, 0.0, 1.5};
  const auto drawn = [&](Shape shape, std::uint64_t stream) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < numel_of(shape); ++i) {
      values.push_back(
          all_ends[random_bits(stream, static_cast<std::uint64_t>(i)) % all_ends.size()]);
    }
    return from_values(values, std::move(shape), dtype, device);
  };
  Results all;
  for (const auto& [begin, count] :
       {std::pair{std::int64_t{0}, in_packets(dtype)}, {std::int64_t{3}, between_packets}}) {
    const Tensor x = drawn({begin + count}, 0).narrow(begin, count);
    const Tensor y = drawn({begin + count}, 1).narrow(begin, count);
    append(all, {ops::add(x, y), ops::subtract(x, y), ops::multiply(x, y), ops::scale(x, 1.5),
                 ops::activate(x, ops::Activation::relu),
                 ops::activate_backward(x, y, ops::Activation::relu)});
    for (const ReduceOp op : all_reduce_ops) {
      all.push_back(x.clone());
      all.back().reduce_(y, op);
    }
  }
  const Tensor rows = drawn({7, 256}, 2);
  for (const Shape& shape : {Shape{1}, Shape{256}, Shape{7, 1}}) {
    const Tensor other = drawn(shape, 3);
    append(all, {ops::add(rows, other), ops::subtract(rows, other), ops::multiply(rows, other)});
  }
  ops::add_row_(rows, drawn({256}, 4));
  all.push_back(rows);
  return all;
}

Results squares(DType dtype, Device& device) {
  Results all = global_norms(dtype, device);
  const Tensor one[] = {noise({between_packets}, dtype, device)};
  const Tensor last[] = {full({1}, std::nan(""), dtype, device)};
  append(all, {ops::sum_of_squares(one), ops::unscale_(one, 0.5), one[0], ops::unscale_(last, 2)});
  return all;
}

Results gathers(DType dtype, Device& device) {
  Results all = rows_by_number(130, dtype, device);
  append(all, rows_by_number(5, dtype, device));
  all.push_back(ops::embedding(noise({6, 130}, dtype, device), drawn_indices(9, 6, device)));
  return all;
}

Results sums_of_axes(DType dtype, Device& device) {
  Results all = sums(dtype, device);
  const Tensor x = noise({2, 3, 2, 3, 2, 3, 2, 3}, dtype, device);
  append(all, {ops::sum_to(x, {2, 1, 2, 1, 2, 1, 2, 1}), ops::sum_to(x, {1, 3, 1, 3, 1, 3, 1, 3}),
               ops::sum_to(x, {2, 1, 2, 1, 2, 1, 1, 1}), ops::sum_to(x, {1, 1, 1, 3, 1, 3, 1, 3}),
               ops::sum_to(x, {2, 1, 2, 1, 1, 1, 1, 1}), ops::sum_to(x, {1, 1, 1, 1, 1, 3, 1, 3})});
  const Tensor y = noise({3, 2, 3, 2, 3, 2, 3, 2}, dtype, device);
  const Tensor z = noise({2, 5, 2, 5, 2, 5, 2, 5}, dtype, device);
  append(all,
         {ops::sum_to(y, {1, 2, 1, 2, 1, 2, 1, 2}), ops::sum_to(y, {1, 1, 1, 2, 1, 2, 1, 2}),
          ops::sum_to(y, {1, 1, 1, 1, 1, 2, 1, 2}), ops::sum_to(z, {2, 1, 2, 1, 2, 1, 2, 1}),
          ops::sum_to(z, {1, 1, 2, 1, 2, 1, 2, 1}), ops::sum_to(z, {1, 1, 1, 1, 2, 1, 2, 1}),
          ops::sum_to(noise({2, 6, 2, 6, 2, 6, 2, 6}, dtype, device), {2, 1, 2, 1, 2, 1, 2, 1}),
          ops::sum_to(noise({2, 11, 2, 11, 2, 11}, dtype, device), {2, 1, 2, 1, 2, 1}),
          ops::sum_to(noise({2, 34, 2, 34}, dtype, device), {2, 1, 2, 1})});
  // One to four axes, whose terms leave a rest of three turns: of a thread, a warp, a block.
  const auto add = [&](const Shape& from, const Shape& to) {
    all.push_back(ops::sum_to(noise(from, dtype, device), to));
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
    all.push_back(ops::sum_to(noise({terms, 300}, dtype, device), {300}));
    all.push_back(ops::sum_to(noise({30, 32 * terms + 16}, dtype, device), {30, 1}));
  }
  all.push_back(ops::sum_to(noise({3, 256 * 6 + 64}, dtype, device), {3, 1}));
  return all;
}

Results integer_moves(DType dtype, Device& device) {
  Results all = movements(dtype, device);
  for (const Tensor& each :
       {zeros({in_packets(dtype)}, dtype, device), window(between_packets, dtype, device, 4)}) {
    each.fill_(3);
    all.push_back(each);
  }
  return all;
}

Results integer_conversions(DType dtype, Device& device) {
  Results all;
  for (const DType to : all_dtypes) {
    all.push_back(common_to(dtype, to, between_packets, device).to(to));
  }
  return all;
}

}  // namespace lockstep::test
