#include "engine/gpu/explain/profile.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <optional>
#include <sstream>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/text.hpp"

namespace lockstep::gpu {
namespace {

// Cells in quotes, or not; a quote inside of one is doubled.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : row) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

double number_in(std::string cell) {  // "1,024.5"
  std::erase(cell, ',');
  return std::strtod(cell.c_str(), nullptr);
}

class Columns {
 public:
  explicit Columns(std::vector<std::string> names) : names_(std::move(names)) {}

  std::size_t of(const std::string& name) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) throw Error(text("the profile has no column '", name, "'"));
    return static_cast<std::size_t>(found - names_.begin());
  }
  double sum(const std::vector<std::string>& row, const std::string& begin,
             std::initializer_list<const char*> operations) const {
    double total = 0;
    for (const char* operation : operations) {
      total += number_in(row.at(of(text(begin, operation, ".sum"))));
    }
    return total;
  }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

void leave_out(std::string& name, std::string_view part) {
  for (std::size_t at; (at = name.find(part)) != std::string::npos;) name.erase(at, part.size());
}

double ratio_of(double a, double b) { return b == 0 ? 0 : a / b; }
bool agree(double a, double b) { return std::fabs(a - b) <= 0.05 * std::max(a, b); }

}  // namespace

std::string short_kernel_name(std::string name) {
  for (const char* part : {"(anonymous namespace)::", "<unnamed>::", "(int)", "(unsigned int)",
                           "(long)", "(bool)", "(unsigned char)"}) {
    leave_out(name, part);
  }
  std::string kept;  // without "lockstep::gpu::"
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.compare(i, 2, "::") != 0) {
      kept += name[i];
      continue;
    }
    const auto of_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    while (!kept.empty() && of_name(kept.back())) kept.pop_back();
    ++i;
  }
  int depth = 0;
  std::size_t start = 0, end = 0;
  for (; end < kept.size() && (depth > 0 || kept[end] != '('); ++end) {
    depth += kept[end] == '<' ? 1 : kept[end] == '>' ? -1 : 0;
    if (depth == 0 && kept[end] == ' ') start = end + 1;
  }
  return kept.substr(start, end - start);
}

std::map<std::string, Profiled> read_profile(std::string_view csv) {
  std::map<std::string, Profiled> kernels;
  std::optional<Columns> columns;
  std::istringstream rows{std::string(csv)};
  for (std::string row; std::getline(rows, row);) {
    std::vector<std::string> cells = cells_of(row);
    if (!columns) {
      if (cells.front() == "ID" && cells.size() > 1) columns.emplace(std::move(cells));
      continue;
    }
    if (cells.size() != columns->size() || cells.front().empty()) continue;  // the units
    Profiled& is = kernels[short_kernel_name(cells[columns->of("Kernel Name")])];
    const double instructions = columns->sum(cells, "smsp__inst_executed", {""});
    is.instructions += instructions;
    is.lane_instructions +=
        instructions *
        number_in(cells[columns->of("smsp__thread_inst_executed_per_inst_executed.ratio")]);
    const auto all = {"ld", "st", "red", "atom"};
    is.device_requests += columns->sum(cells, "l1tex__t_requests_pipe_lsu_mem_global_op_", all);
    is.sectors += columns->sum(cells, "l1tex__t_sectors_pipe_lsu_mem_global_op_", all);
    is.shared_requests += columns->sum(cells, "smsp__inst_executed_op_shared_", {"ld", "st"});
    is.bank_passes +=
        columns->sum(cells, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_", {"ld", "st"});
  }
  if (!columns) throw Error("the file holds no table of ncu: no line begins with \"ID\"");
  return kernels;
}

std::string profile_table(std::span<const CountedKernel> paper,
                          const std::map<std::string, Profiled>& gpu) {
  std::string table =
      "                                     sectors a request   passes a request    lanes active\n"
      "kernel                                  paper      GPU      paper      GPU   paper     "
      "GPU\n";
  int compared = 0, same = 0;
  for (const CountedKernel& kernel : paper) {
    const auto found = gpu.find(kernel.name);
    if (found == gpu.end()) continue;
    const Profiled& there = found->second;
    const Figures here = kernel.whole();
    const double sectors = ratio_of(there.sectors, there.device_requests);
    const double passes = ratio_of(there.bank_passes, there.shared_requests);
    ++compared;
    same += agree(here.sectors_a_request(), sectors) && agree(here.passes_a_request(), passes);
    char row[256];
    std::snprintf(row, sizeof row, "%-36s %8.2f %8.2f   %8.2f %8.2f   %4.0f %% %5.0f %%\n",
                  kernel.name.c_str(), here.sectors_a_request(), sectors, here.passes_a_request(),
                  passes, 100 * here.lanes_active(),
                  100 * ratio_of(there.lane_instructions, 32 * there.instructions));
    table += row;
  }
  return table + text("sectors and passes agree within 5 % in ", same, " of ", compared,
                      " kernels; the profile has ", gpu.size(), ", paper ", paper.size(), "\n");
}

}  // namespace lockstep::gpu
