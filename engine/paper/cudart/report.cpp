// The end of the process. A destructor of the library runs after those of all that use it, so
// whatever they free is freed by then.
#include "engine/paper/cudart/report.hpp"

#include <unistd.h>

#include <cstdio>

namespace lockstep::paper {

void print_findings(Runtime& state) {
  const auto all = state.findings().all();
  for (std::size_t i = state.printed; i < all.size(); ++i) {
    std::fprintf(stderr, "paper: %s\n", to_string(all[i]).c_str());
  }
  state.printed = all.size();
}

namespace {

__attribute__((destructor)) void end_of_process() {
  Runtime* const state = runtime_if_made();
  if (state == nullptr || !state->has_devices()) return;
  state->finish();
  print_findings(*state);
  if (!state->settings().strict || state->findings().size() == 0) return;
  const std::size_t count = state->findings().size();
  std::fprintf(stderr, "paper: %zu finding%s in strict mode, so the exit code is %d\n", count,
               count == 1 ? "" : "s", strict_exit_code);
  std::fflush(nullptr);
  _exit(strict_exit_code);
}

}  // namespace

}  // namespace lockstep::paper
