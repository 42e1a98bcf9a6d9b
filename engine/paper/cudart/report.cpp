// The end of the process. A destructor of the library runs after those of all that use it, so
// whatever they free is freed by then.
#include "engine/paper/cudart/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <sstream>
#include <utility>
#include <vector>

namespace lockstep::paper {

void print_findings(Runtime& state) {
  const auto all = state.findings().all();
  for (std::size_t i = state.printed; i < all.size(); ++i) {
    std::fprintf(stderr, "paper: %s\n", to_string(all[i]).c_str());
  }
  state.printed = all.size();
}

namespace {

unsigned long long wide(std::uint64_t count) { return count; }  // as printf wants it

void print_counters(Runtime& state) {
  if (!state.settings().counters) return;
  std::fputs(counters_table(state.kernel_counters()).c_str(), stderr);
}

}  // namespace

std::string counters_table(const KernelCounters& kernels) {
  if (kernels.empty()) return "";
  std::vector<std::pair<std::string, Counters>> rows;
  for (const auto& [kernel, counters] : kernels) rows.emplace_back(kernel, counters);
  std::ranges::stable_sort(rows, std::greater{},
                           [](const auto& row) { return row.second.instructions; });
  std::string table =
      "launches  instructions         flops  sectors/request  passes/request  barriers   atomics  "
      "divergent  kernel\n";
  for (const auto& [kernel, is] : rows) {
    char figures[256];
    std::snprintf(figures, sizeof figures, "%8llu %13llu %13llu %16.2f %15.2f %9llu %9llu %10llu  ",
                  wide(is.launches), wide(is.instructions), wide(is.flops), is.sectors_a_request(),
                  is.passes_a_request(), wide(is.barriers), wide(is.atomics),
                  wide(is.divergent_branches));
    table += figures + kernel + "\n";
  }
  return table;
}

std::string lines_table(const KernelCounters& kernels, const LinesOfKernels& lines) {
  const auto distance = [](const Apart& apart) -> std::string {
    if (apart.state == Apart::State::unseen) return "-";
    return apart.state == Apart::State::mixed ? "mixed" : std::to_string(apart.bytes);
  };
  std::ostringstream table;
  for (const auto& [name, kernel] : lines) {
    const Counters& whole = kernels.at(name);
    table << "kernel\t" << name << '\t' << kernel.symbol << '\t' << whole.launches << '\t'
          << kernel.blocks << '\t' << kernel.threads << '\t' << kernel.dynamic_shared << '\t'
          << whole.barriers << '\n';
    for (const auto& [place, line] : kernel.lines) {
      const Counters& is = line.counters;
      table << "line\t" << place.first << '\t' << place.second;
      for (const std::uint64_t figure :
           {is.instructions, is.lane_instructions, is.flops, is.device_requests, is.sectors,
            is.sectors_needed, is.shared_requests, is.bank_passes, is.passes_needed, is.atomics,
            is.divergent_branches}) {
        table << '\t' << figure;
      }
      table << '\t' << distance(line.device) << '\t' << distance(line.shared) << '\n';
    }
  }
  return std::move(table).str();
}

namespace {

__attribute__((destructor)) void end_of_process() {
  Runtime* const state = runtime_if_made();
  if (state == nullptr || !state->has_devices()) return;
  state->finish();
  print_counters(*state);
  print_findings(*state);
  for (const std::string& sentence : state->not_struck()) {
    std::fprintf(stderr, "paper: %s\n", sentence.c_str());
  }
  if (!state->settings().strict || state->findings().size() == 0) return;
  const std::size_t count = state->findings().size();
  std::fprintf(stderr, "paper: %zu finding%s in strict mode, so the exit code is %d\n", count,
               count == 1 ? "" : "s", strict_exit_code);
  std::fflush(nullptr);
  _exit(strict_exit_code);
}

}  // namespace

}  // namespace lockstep::paper
