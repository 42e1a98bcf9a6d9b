// The exercises and how they stand, as values and as words.
#pragma once

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

// "solved", "not judged yet", "wrong answer", "changed since", …
std::string state_text(const Row& row);
std::string painted_state(Paint paint, const Row& row, std::size_t columns);

// The table, lesson by lesson, at most 80 columns wide, and the totals below it.
std::string list_text(const Lab& lab, const std::vector<Row>& rows);

}  // namespace lockstep::grader
