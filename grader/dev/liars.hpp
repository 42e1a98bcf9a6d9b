// The lying impostors (grader/impostors/lying): players whose values are right, which spend memory,
// time or copies that they must not, and report of themselves what the best part would. Where a
// check holds for one of them, it believes what a player says.
#pragma once

#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

struct Liar {
  std::string exercise, name;
  std::vector<int> checks;  // that its lies are about, from 1; none of them may hold

  std::string kind() const { return "lying-" + exercise + "." + name; }  // as Places::impostor
};

const std::vector<Liar>& liars();
std::vector<Liar> liars_of(const Exercise& exercise);

}  // namespace lockstep::grader
