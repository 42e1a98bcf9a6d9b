// ./lab list: all exercises and how they stand, and what is next.
#include "grader/lab/list.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/json_text.hpp"
#include "engine/base/text.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

Options list_options() {
  Options options("./lab list", "Shows all exercises, their state, and what comes next.");
  options.flag("json", "print one JSON document instead of text");
  return options;
}

// On a terminal that is narrower, what an exercise comes after is left out.
constexpr std::size_t columns_with_prerequisites = 120;

// In the table the lesson stands above: "quiz" is enough.
std::string line_of(const Row& row, const Lab& lab) {
  const Exercise& exercise = *row.exercise;
  const std::string points =
      row.points == 0 ? text("-/", exercise.points) : text(row.points, "/", exercise.points);
  std::string line =
      text("  ", padded(exercise.name, 29), painted_state(lab.paint, row, 18), padded(points, 7),
           padded(text(exercise.minutes, " min"), 8), padded(difficulty_text(exercise), 7),
           padded(exercise.core ? "" : "optional", 10));
  const bool room = lab.columns == 0 || lab.columns >= columns_with_prerequisites;
  if (room && !exercise.after.empty()) {
    std::string before;
    for (const std::string& name : exercise.after) before += (before.empty() ? "" : ", ") + name;
    line += faint(lab.paint, "after " + before);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::vector<Row> rows_of(const Lab& lab, const Progress& progress) {
  std::vector<Row> rows;
  for (const Exercise& exercise : lab.course.exercises) {
    Row row{&exercise, state_of(lab, exercise, progress), "", 0};
    const auto found = progress.find(exercise.address());
    if (found != progress.end() && found->second.last) {
      const Standing& standing = found->second;
      row.verdict = standing.last->verdict;
      if (row.state == State::solved) row.points = standing.passed->points;
      if (row.state == State::not_yet) row.points = standing.last->points;
    }
    rows.push_back(row);
  }
  return rows;
}

Totals totals_of(const std::vector<Row>& rows) {
  Totals totals;
  for (const Row& row : rows) {
    totals.solved += row.state == State::solved;
    totals.points += row.points;
    totals.points_max += row.exercise->points;
    ++totals.exercises;
  }
  return totals;
}

std::string state_text(const Row& row) {
  switch (row.state) {
    case State::untouched:
      return "not judged yet";
    case State::solved:
      return "solved";
    case State::not_yet:
      return row.verdict;
    case State::changed:
      return "changed since";
    case State::updated:
      return "updated";
    case State::unreadable:
      break;
  }
  return "unreadable";
}

std::string painted_state(Paint paint, const Row& row, std::size_t columns) {
  const std::string words = padded(state_text(row), columns);
  if (row.state == State::solved) return green(paint, words);
  return row.state == State::untouched ? faint(paint, words) : yellow(paint, words);
}

std::string difficulty_text(const Exercise& exercise) {
  constexpr const char* words[] = {"easy", "medium", "hard"};
  return words[exercise.difficulty - 1];
}

std::vector<std::string> open_before(const Exercise& exercise, const std::vector<Row>& rows) {
  std::vector<std::string> open;
  for (const std::string& before : exercise.after) {
    const auto solved = [&](const Row& row) {
      return row.exercise->handle() == before && row.state == State::solved;
    };
    if (std::none_of(rows.begin(), rows.end(), solved)) open.push_back(before);
  }
  return open;
}

nlohmann::json json_of(const Row& row, const std::vector<Row>& rows) {
  const Exercise& exercise = *row.exercise;
  return {{"exercise", exercise.handle()},
          {"lesson", exercise.lesson},
          {"kind", exercise.kind == Kind::quiz ? "quiz" : "code"},
          {"core", exercise.core},
          {"difficulty", exercise.difficulty},
          {"after", exercise.after},
          {"open_before", open_before(exercise, rows)},
          {"file", "work/" + exercise.file()},
          {"state", state_text(row)},
          {"verdict", row.verdict},
          {"solved", row.state == State::solved},
          {"points", row.points},
          {"max_points", exercise.points},
          {"minutes", exercise.minutes}};
}

std::string list_text(const Lab& lab, const std::vector<Row>& rows) {
  std::string out;
  for (const Lesson& lesson : lab.course.lessons) {
    out += bold(lab.paint, lesson.folder.substr(0, 2) + "  " + lesson.title) + "\n";
    std::string exercises;
    for (const Row& row : rows) {
      if (row.exercise->lesson == lesson.folder) exercises += line_of(row, lab) + "\n";
    }
    const std::string reading = "  read lessons/" + lesson.folder + "/README.md";
    out += exercises.empty() ? faint(lab.paint, reading) + "\n" : exercises;
  }
  const Totals totals = totals_of(rows);
  out += text(totals.solved, " of ", totals.exercises, " solved, ", totals.points, " of ",
              totals.points_max, " points\n");
  const bool updated = std::any_of(rows.begin(), rows.end(),
                                   [](const Row& row) { return row.state == State::updated; });
  if (updated) {
    out +=
        "updated: the course has a new version of this exercise; check yours again, or start over "
        "with ./lab reset\n";
  }
  return out;
}

Exit list_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(list_options(), words);
  if (arguments.asks_help()) return print_help(list_options());
  const Progress progress = read_progress(lab.places.progress());
  const auto rows = rows_of(lab, progress);
  if (arguments.flag("json")) {
    auto list = nlohmann::json::array();
    for (const Row& row : rows) list.push_back(json_of(row, rows));
    std::cout << write_json(list, 2) << "\n";
    return Exit::passed;
  }
  std::string out = list_text(lab, rows);
  if (const Exercise* next = exercise_at_hand(lab, progress)) {
    out += text("next: ", next->handle(), ", about ", next->minutes, " minutes (./lab next)\n");
  }
  std::cout << wrapped(out, lab.columns);
  return Exit::passed;
}

}  // namespace lockstep::grader
