#include "grader/judge/par.hpp"

#include <algorithm>

namespace lockstep::grader {

bool at_par(const ParCounter& counter) { return counter.ratio() <= 1 + 1e-9; }

int stars_of(const std::vector<ParCounter>& par) {
  if (par.empty()) return 0;
  if (std::ranges::all_of(par, at_par)) return 3;
  const auto is_near = [](const ParCounter& counter) { return counter.ratio() <= near_par; };
  return std::ranges::all_of(par, is_near) ? 2 : 1;
}

}  // namespace lockstep::grader
