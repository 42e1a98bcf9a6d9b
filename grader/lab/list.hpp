// The exercises and how they stand, as values and as words.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct Row {
  const Exercise* exercise;
  State state = State::untouched;
  std::string verdict;  // of the last check
  int points = 0;       // 0 after a change, until it is judged again
};

// One a row, in the course's order.
std::vector<Row> rows_of(const Lab& lab, const Progress& progress);

struct Totals {
  int solved = 0, exercises = 0, points = 0, points_max = 0;
};
Totals totals_of(const std::vector<Row>& rows);

// "easy", "medium", "hard"
std::string difficulty_text(const Exercise& exercise);

// The exercises that should be solved before this one and are not.
std::vector<std::string> open_before(const Exercise& exercise, const std::vector<Row>& rows);

// "solved", "not judged yet", "wrong answer", "changed since", …
std::string state_text(const Row& row);
std::string painted_state(Paint paint, const Row& row, std::size_t columns);

// A row as ./lab list --json has it.
nlohmann::json json_of(const Row& row, const std::vector<Row>& rows);

// The table, lesson by lesson, 80 columns wide or, where there is room, 120; and the totals.
std::string list_text(const Lab& lab, const std::vector<Row>& rows);

}  // namespace lockstep::grader
