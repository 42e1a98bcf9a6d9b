// A program of the engine with those of the student's parts that pass, and what a run of the
// trainer makes of such a part, as the part's manifest says (CalledBy).
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "engine/base/options.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct WithWork {
  std::filesystem::path program;
  std::set<std::string> added;  // options that the trainer needs so that these parts are called
};

// Says whose parts a linked program has.
struct PartsTold {
  struct Told {
    std::string part, why;
  };
  std::vector<std::string> yours = {};
  std::vector<Told> uncalled = {};  // yours, and why this run does not call them
  std::int64_t others = 0;          // yours, too, of a program that calls only the named parts
  std::vector<Told> replaced = {};  // yours do not pass, so that the references are linked
  std::int64_t unwritten = 0;       // the others, which are references as well
};
// In a few lines: a program has thirty parts, and a person wants to know of a few.
std::string text_of(const PartsTold& parts);

// Links the program with those of the student's parts that it calls, and says on standard error
// what is whose.
//   always  the student's parts of these names are linked even if they do not pass; of others, only
//           what these call
//   run     the trainer's options; nullptr for another program
//   Throws  what StudentProgram does
WithWork linked_with_work(const Lab& lab, const std::string& program, const Words& always,
                          const Arguments* run);

// Why this run of the trainer will not call a part: "add --workers to call it"; "" if it will.
//   added  options that the run is given besides
std::string why_uncalled(const CalledBy& called_by, const Arguments& run,
                         const std::set<std::string>& added = {});

// These parts and what they call, by name, as their manifests say it (may_use).
std::set<std::string> called_by_parts(const Course& course, const Words& parts);

// The option that the run has to be given so that the part is called; "" where none is.
std::string added_option(const CalledBy& called_by, const Arguments& run);

}  // namespace lockstep::grader
