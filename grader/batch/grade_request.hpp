// Reads the command line of ./lab grade and the files that it names, before anything is made or
// opened for writing.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/options.hpp"
#include "grader/batch/hand_ins/roster.hpp"
#include "grader/batch/policy/late.hpp"
#include "grader/batch/policy/overrides.hpp"
#include "grader/batch/policy/regrade.hpp"
#include "grader/course/manifest.hpp"
#include "grader/export/hidden_cases.hpp"

namespace lockstep::grader {

enum class Names : unsigned char { shown, hidden };  // of students, in what is written

struct GradeRequest {
  std::filesystem::path submissions;
  std::string out;
  std::vector<std::string> formats;
  Names names = Names::shown;
  Cases cases = Cases::hidden;
  int jobs = 1;
  enum class Begin : unsigned char { afresh, resumed } begin = Begin::afresh;
  // Nothing: as the journal has it, or the default.
  std::optional<std::vector<const Exercise*>> exercises;
  std::optional<Roster> roster;
  std::optional<std::string> naming;  // student_name.hpp
  std::optional<std::string> limits;  // settings.hpp
  std::optional<Overrides> overrides;
  std::optional<LatePolicy> late;
  std::string late_from;           // hand_in_times.hpp
  std::set<std::string> students;  // only these; empty: all
  std::vector<Regrade> regrades;
  std::string secret;  // of the --seed-file
};

Options grade_options();

//   Throws  UsageError with what is wrong, and in which file and line
GradeRequest grade_request(const Arguments& arguments, const Course& course);

}  // namespace lockstep::grader
