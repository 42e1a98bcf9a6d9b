// The list of a class, as a spreadsheet saves it: RFC 4180, with or without a byte-order mark,
// separated by commas, semicolons or tabs (spreadsheet.hpp).
//
// The first line is a heading when one of its cells is a word such as student, name or e-mail. The
// students' names are the column "student", else "username", "user", "login", else "id", else the
// first; all other columns are kept.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "grader/batch/hand_ins/spreadsheet.hpp"

namespace lockstep::grader {

// Each student gets pages of their own, so a class of more students is a wrong file.
constexpr std::size_t roster_students_max = 20'000;

struct Roster {
  std::vector<std::string> columns;                          // the others, as their heading says
  std::map<std::string, std::vector<std::string>> students;  // by readable_name(): their cells
  std::vector<std::string> notes;  // on lines left out: no name, or a name again; the first counts
  std::map<std::string, int> lines = {};  // of each student, when it was just read from a file
};

//   text     the file's bytes, whatever they are
//   column   the heading above the students' names; empty: by the rule above
//   Throws   UsageError with the line: not UTF-8, a quote left open, no such column, no
//            student, or too many of them
Roster read_roster(const std::string& text, const std::string& column = "");

nlohmann::json json_of(const Roster& roster);
Roster roster_from(const nlohmann::json& record);

}  // namespace lockstep::grader
