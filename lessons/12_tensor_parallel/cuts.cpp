// A feed-forward layer y = relu(x·A)·B with two inputs, four hidden numbers and two outputs, cut in
// two ways over two simulated ranks:
//   build/release/bin/cuts outputs     what each rank adds to y, and the sum
//   build/release/bin/cuts gradients   the gradient of x on each rank, when that of y is (1, 1)
//   build/release/bin/cuts numbers     columns first, all that a rank has: RANK TENSOR ROW COLUMN
//   VALUE
// The engine's weights are transposed: a row of `first` makes one hidden number.
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/tensor/rearrange.hpp"

using namespace lockstep;

namespace {

const std::vector<double> input{1, 2};
const std::vector<std::vector<double>> first{{1, 1}, {-1, 0}, {2, -2}, {0, 1}};  // Aᵀ, [4, 2]
const std::vector<std::vector<double>> second{{1, 5, 2, 0}, {0, 5, 1, 1}};       // Bᵀ, [2, 4]

struct Range {
  std::size_t begin, end;
};

// These rows and columns of a matrix.
Tensor part(const std::vector<std::vector<double>>& matrix, Range rows, Range columns,
            Device& device) {
  std::vector<double> values;
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    for (std::size_t j = columns.begin; j < columns.end; ++j) values.push_back(matrix[i][j]);
  }
  const auto size = [](Range range) { return static_cast<std::int64_t>(range.end - range.begin); };
  return from_values(values, {size(rows), size(columns)}, DType::float64, device);
}

Value layer(Tape& tape, const Value& x, const Tensor& a, const Tensor& b) {
  const Value hidden = autograd::linear(tape, x, tape.constant(a));
  return autograd::linear(tape, autograd::activate(tape, hidden, ops::Activation::relu),
                          tape.constant(b));
}

// Hidden numbers 2r and 2r + 1 are rank r's: columns of A, rows of B. It needs the whole x.
Value columns_first(Tape& tape, const Value& x, std::size_t rank, Device& device) {
  const Range mine{2 * rank, 2 * rank + 2};
  return layer(tape, x, part(first, mine, {0, 2}, device), part(second, {0, 2}, mine, device));
}

// Input r is rank r's: a row of A. B is whole.
Value rows_first(Tape& tape, std::size_t rank, Device& device) {
  const Tensor mine = from_values(std::vector{input[rank]}, {1, 1}, DType::float64, device);
  return layer(tape, tape.constant(mine), part(first, {0, 4}, {rank, rank + 1}, device),
               part(second, {0, 2}, {0, 4}, device));
}

void tell(const std::string& what, const Tensor& pair) {
  std::cout << std::left << std::setw(24) << what << "(" << pair.item(0) << ", " << pair.item(1)
            << ")\n";
}

// Tells what each rank makes of its share, and the sum, which an all-reduce gives them all.
using Share = std::function<Tensor(std::size_t rank, Device& device)>;
void tell_shares(const std::string& name, const Share& share) {
  sim::Options options;
  options.ranks = 2;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    const Tensor mine = share(static_cast<std::size_t>(self.rank), device);
    for (int rank = 0; rank < self.ranks; ++rank) {
      if (rank == self.rank) tell(name + ", rank " + std::to_string(rank), mine);
      group->barrier();
    }
    group->all_reduce(mine, ReduceOp::sum);
    if (self.rank == 0) tell(name + ", sum", mine);
  });
  if (result.finding) throw Error(result.finding->message);
}

Tensor row(const std::vector<double>& values, Device& device) {
  return from_values(values, {1, 2}, DType::float64, device);
}

void outputs() {
  CpuDevice device;
  Tape tape(GradMode::inference);
  tell("one device",
       layer(tape, tape.constant(row(input, device)), part(first, {0, 4}, {0, 2}, device),
             part(second, {0, 2}, {0, 4}, device))
           .tensor.view({2}));
  tell_shares("rows first", [](std::size_t rank, Device& on) {
    Tape own(GradMode::inference);
    return rows_first(own, rank, on).tensor.view({2});
  });
  tell_shares("columns first", [](std::size_t rank, Device& on) {
    Tape own(GradMode::inference);
    return columns_first(own, own.constant(row(input, on)), rank, on).tensor.view({2});
  });
}

void gradients() {
  tell_shares("columns first", [](std::size_t rank, Device& on) {
    Tape tape(GradMode::record);
    const Value x = tape.input(row(input, on));
    tape.backward(columns_first(tape, x, rank, on), row({1, 1}, on));
    return tape.gradient_of(x).view({2});
  });
}

void tell_numbers(std::size_t rank, const char* name, const Tensor& matrix, std::size_t row,
                  std::size_t column) {
  for (std::int64_t i = 0; i < matrix.numel(); ++i) {
    std::cout << rank << " " << name << " " << row + static_cast<std::size_t>(i / matrix.size(1))
              << " " << column + static_cast<std::size_t>(i % matrix.size(1)) << " "
              << matrix.item(i) << "\n";
  }
}

void numbers() {
  CpuDevice device;
  const auto transposed = [&](const Tensor& matrix) { return ops::transpose(matrix, 0, 1); };
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Tape tape(GradMode::inference);
    const Range mine{2 * rank, 2 * rank + 2};
    const Tensor a = part(first, mine, {0, 2}, device), b = part(second, {0, 2}, mine, device);
    const Value x = tape.constant(row(input, device));
    const Value hidden = autograd::linear(tape, x, tape.constant(a));
    tell_numbers(rank, "x", x.tensor, 0, 0);
    tell_numbers(rank, "A", transposed(a), 0, mine.begin);
    tell_numbers(rank, "xA", hidden.tensor, 0, mine.begin);
    tell_numbers(rank, "relu", autograd::activate(tape, hidden, ops::Activation::relu).tensor, 0,
                 mine.begin);
    tell_numbers(rank, "B", transposed(b), mine.begin, 0);
    tell_numbers(rank, "y", layer(tape, x, a, b).tensor, 0, 0);
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string which = count == 2 ? words[1] : "";
    if (which == "outputs") {
      outputs();
    } else if (which == "gradients") {
      gradients();
    } else if (which == "numbers") {
      numbers();
    } else {
      throw UsageError("usage: cuts outputs|gradients|numbers");
    }
  } catch (const std::exception& error) {
    std::cerr << "cuts: " << error.what() << "\n";
    return 2;
  }
}
