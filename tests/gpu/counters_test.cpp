// What paper counted while kernels ran: whether a warp's lanes go to neighbours in memory. A GPU
// moves sectors of 32 bytes. The ideal of a request is as many as would hold the bytes that its
// lanes ask for; lanes that lie apart, or begin in the middle of a sector, move more. In shared
// memory a request takes one pass where no two lanes want different words of one bank.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/gpu/explain/paper_counts.hpp"
#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Rows of multiples of 8 floats, or 16 halves, which begin where a sector begins; or rows, and
// tensors, that begin anywhere.
enum class Rows { even, odd };

void run_elements(DType dtype, Device& device, std::int64_t columns) {
  const Tensor x = noise({12, columns}, dtype, device), y = noise({12, columns}, dtype, device, 1);
  const Tensor row = noise({columns}, dtype, device, 2), one = noise({1}, dtype, device, 3);
  const Tensor factor = full({1}, 0.3, DType::float64, device);
  x.scale_(0.7);
  x.fill_(0.5);
  x.reduce_(y, ReduceOp::sum);
  ops::scale_by_(x, factor);
  ops::add_row_(x, row);
  for (const Tensor& other : {y, row, one}) ops::add(x, other);
  ops::add(noise({8, 1, columns}, dtype, device), noise({4, 1}, dtype, device));
  ops::multiply(noise({2, 1, 4, 1, columns}, dtype, device),
                noise({1, 4, 1, 4, 1}, dtype, device, 7));
  ops::sum_rows(x);
  ops::dropout(x, {.rate = 0, .seed = 5});  // lanes that keep nothing would read nothing
  x.to(dtype == DType::float32 ? DType::bfloat16 : DType::float32);
  const Tensor grads[] = {x, y};
  ops::sum_of_squares(grads);
  ops::unscale_(grads, 0.25);
}

void run_moves(DType dtype, Device& device, std::int64_t rows, std::int64_t columns) {
  const Tensor x = noise({rows, columns}, dtype, device);
  ops::transpose(x, 0, 1);
  ops::transpose(x.view({rows / 4, 4, columns}), 0, 1);
  ops::narrow(x, 1, 0, columns / 2 / 16 * 16);
  ops::sum_to(x, {rows, 1});
  ops::sum_to(x, {columns});
}

void run_all(Device& device, DType dtype, Rows rows) {
  const bool odd = rows == Rows::odd;
  const std::int64_t few = odd ? 33 : 32, some = odd ? 257 : 256, many = odd ? 1155 : 1152;
  run_elements(dtype, device, some);
  activations(odd ? 4099 : 4096, dtype, device, odd ? 3 : 0);
  updates(odd ? 4099 : 4096, dtype, device);
  rows_by_number(some, dtype, device);
  for (const std::int64_t columns : {few, some, many}) {
    losses(64, columns, dtype, device);
    split_losses(64, 2 * columns, dtype, device, odd ? 3 : 16);
    norms(64, columns, dtype, device);
    norms_again(64, columns, dtype, device);
    run_moves(dtype, device, 64, columns);
  }
  for (const std::int64_t of_head : {few, 2 * few, 4 * few}) {
    attention({1, 64, 2, std::min<std::int64_t>(of_head, 128)}, dtype, device);
  }
  attention({1, odd ? 65 : 64, 2, odd ? 129 : 144}, dtype, device);
}

using Figures = std::map<std::string, gpu::Figures>;  // by kernel

Figures figures_now() {
  Figures all;
  for (const gpu::CountedKernel& kernel : gpu::read_paper_counts(gpu::paper_lines())) {
    all[kernel.name] = kernel.whole();
  }
  return all;
}

// Of the kernels that ran in between.
Figures figures_of(DType dtype, Rows rows) {
  OnPaper paper({"counters=1"});
  const Figures before = figures_now();
  run_all(paper.device(), dtype, rows);
  CHECK(paper.findings() == "");
  Figures all = figures_now();
  for (auto& [kernel, of] : all) {
    const auto earlier = before.find(kernel);
    if (earlier == before.end()) continue;
    const gpu::Figures& was = earlier->second;
    of.device_requests -= was.device_requests;
    of.sectors -= was.sectors;
    of.sectors_needed -= was.sectors_needed;
    of.shared_requests -= was.shared_requests;
    of.bank_passes -= was.bank_passes;
  }
  std::erase_if(all, [](const auto& each) { return each.second.device_requests == 0; });
  return all;
}

double times_the_ideal(const gpu::Figures& of) {
  return static_cast<double>(of.sectors) / static_cast<double>(of.sectors_needed);
}

// Whose requests are none of rows: a search through a list of numbers, kernels of one thread, and
// those that take one number of a row or none.
bool has_rows(const std::string& kernel) {
  const std::string family = gpu::family_of(kernel);
  return family != "link_positions" && family != "clip" && family != "keep_first" &&
         family != "factor_of_rows" && family != "pick" && family != "split_terms";
}

// What a request may move, beside the ideal. An odd row begins in the middle of a sector: 32 floats
// then lie in 5 sectors for 4, 32 halves in 3 for 2, and the few halves of a row's end in 2 for 1.
double most_of(DType dtype, Rows rows) {
  if (rows == Rows::even) return 1.1;
  return dtype == DType::float32 ? 1.3 : 1.55;
}

}  // namespace

TEST_CASE("gpu: the lanes of every kernel's warps go to neighbours in memory", "[paper]") {
  std::set<std::string> seen;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const Rows rows : {Rows::even, Rows::odd}) {
      for (const auto& [name, of] : figures_of(dtype, rows)) {
        CAPTURE(name, name_of(dtype), rows == Rows::odd, of.sectors, of.sectors_needed);
        seen.insert(name);
        if (has_rows(name)) CHECK(times_the_ideal(of) <= most_of(dtype, rows));
        // A tile of halves has two words in a bank; 16 lanes add squares that lie 16 doubles apart.
        CHECK(of.passes_a_request() <= 1.4);
      }
    }
  }
  CHECK(seen.size() > 110);
  const OnPaper
      off;  // the setting stays otherwise, and paper prints the table when the process ends
}

// The table of docs/gpu.md, of each kernel's worst variant, by: bin/test_gpu_kernels '[counters]'
TEST_CASE("gpu: sectors of each kernel beside the ideal", "[.counters][paper]") {
  std::map<std::string, std::vector<double>> table;
  std::size_t column = 0;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const Rows rows : {Rows::even, Rows::odd}) {
      for (const auto& [name, of] : figures_of(dtype, rows)) {
        if (!has_rows(name)) continue;
        auto& row = table.try_emplace(gpu::family_of(name), 4, 0).first->second;
        row[column] = std::max(row[column], times_the_ideal(of));
      }
      ++column;
    }
  }
  for (const auto& [family, row] : table) {
    std::printf("| `%s` |", family.c_str());
    for (const double times : row) std::printf(times == 0 ? " |" : " %.2f |", times);
    std::printf("\n");
  }
  const OnPaper off;
}
