// An autograder for Gradescope: an archive with setup.sh, run_autograder, the lab as sources, a
// seed and the exercises that are graded.
//   Source  https://gradescope-autograders.readthedocs.io/en/latest/specs/: the archive is unpacked
//           in /autograder/source, setup.sh runs when the image is built, and run_autograder for
//           each hand-in in submission/
#pragma once

#include <string>
#include <vector>

#include "grader/further/submit.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct Bundle {
  std::vector<Member> members;
  std::string seed_sha256;
};

//   exercises  names or lessons, separated by commas; empty: all
//   seed_file  the secret seed; empty: a new one
//   Throws     UsageError when an exercise is unknown or the seed unusable
Bundle gradescope_bundle(const Lab& lab, const std::string& exercises,
                         const std::string& seed_file);

}  // namespace lockstep::grader
