// ./lab list: all exercises and how they stand, and what is next.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/text.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/paint.hpp"

namespace lockstep::grader {
namespace {

Options declared() {
  Options options("./lab list", "Shows all exercises, how they stand, and what is next.");
  options.flag("json", "one JSON document instead of words");
  return options;
}

struct Row {
  const Exercise* exercise;
  State state = State::untouched;
  std::string verdict;  // of the last check
  int points = 0;       // 0 after a change, until it is judged again
};

std::vector<Row> rows_of(const Lab& lab, const Progress& progress) {
  std::vector<Row> rows;
  for (const Exercise& exercise : lab.course.exercises) {
    Row row{&exercise, state_of(lab, exercise, progress), "", 0};
    if (row.state != State::untouched && row.state != State::unreadable) {
      const Standing& standing = progress.at(exercise.address());
      row.verdict = standing.verdict;
      row.points = row.state == State::changed ? 0 : standing.points;
    }
    rows.push_back(row);
  }
  return rows;
}

std::string state_text(const Row& row) {
  switch (row.state) {
    case State::untouched:
      return "not judged yet";
    case State::solved:
      return "solved";
    case State::not_yet:
      return row.verdict;
    case State::unreadable:
      return "unreadable";
    case State::changed:
      break;
  }
  return "changed since (" + row.verdict + ")";
}

std::string painted_state(Paint paint, const Row& row) {
  std::string words = state_text(row);
  words.resize(std::max<std::size_t>(words.size(), 32), ' ');
  if (row.state == State::solved) return green(paint, words);
  return row.state == State::untouched ? faint(paint, words) : yellow(paint, words);
}

std::string padded(std::string words, std::size_t width) {
  words.resize(std::max(words.size(), width), ' ');
  return words;
}

std::string json_text(const std::vector<Row>& rows) {
  auto list = nlohmann::json::array();
  for (const Row& row : rows) {
    const Exercise& exercise = *row.exercise;
    list.push_back({{"exercise", exercise.handle()},
                    {"lesson", exercise.lesson},
                    {"kind", exercise.kind == Kind::quiz ? "quiz" : "code"},
                    {"core", exercise.core},
                    {"state", state_text(row)},
                    {"solved", row.state == State::solved},
                    {"points", row.points},
                    {"max_points", exercise.points},
                    {"minutes", exercise.minutes}});
  }
  return list.dump(2) + "\n";
}

}  // namespace

Exit list_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(declared(), words);
  if (arguments.asks_help()) return print_help(declared());
  const Progress progress = read_progress(lab.places.progress());
  const auto rows = rows_of(lab, progress);
  if (arguments.flag("json")) {
    std::cout << json_text(rows);
    return Exit::passed;
  }
  std::size_t widest = 0;
  for (const Row& row : rows) widest = std::max(widest, row.exercise->handle().size());
  int solved = 0, points = 0, points_max = 0;
  for (const Lesson& lesson : lab.course.lessons) {
    std::cout << bold(lab.paint, lesson.folder.substr(0, 2) + "  " + lesson.title) << "\n";
    const auto of_lesson = [&](const Exercise& e) { return e.lesson == lesson.folder; };
    if (std::ranges::none_of(lab.course.exercises, of_lesson)) {
      std::cout << faint(lab.paint, "    read lessons/" + lesson.folder + "/README.md") << "\n";
    }
    for (const Row& row : rows) {
      const Exercise& exercise = *row.exercise;
      if (exercise.lesson != lesson.folder) continue;
      std::cout << "    " << padded(exercise.handle(), widest + 2) << painted_state(lab.paint, row)
                << padded(text(row.points, "/", exercise.points, " points"), 16) << exercise.minutes
                << " min" << (exercise.core ? "" : "  (optional)") << "\n";
      solved += row.state == State::solved;
      points += row.points;
      points_max += exercise.points;
    }
  }
  std::cout << solved << " of " << rows.size() << " solved, " << points << " of " << points_max
            << " points\n";
  if (const Exercise* next = next_exercise(lab, progress)) {
    std::cout << "next: ./lab show " << next->handle() << ", edit work/" << next->file()
              << ", ./lab check " << next->handle() << "\n";
  }
  return Exit::passed;
}

}  // namespace lockstep::grader
