// ./lab and ./lab next: where the student is, and what comes next.
#include "grader/lab/overview.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/json_text.hpp"
#include "engine/base/text.hpp"
#include "grader/lab/ahead.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/predict_list.hpp"
#include "grader/lab/watch_screen.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t bar_columns = 16;

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return out;
}

std::string lesson_line(const Lesson& lesson, const std::vector<Row>& rows, Paint paint) {
  std::vector<Row> own;
  for (const Row& row : rows) {
    if (row.exercise->lesson == lesson.folder) own.push_back(row);
  }
  const std::string name = padded(lesson.folder.substr(0, 2) + "  " + lesson.title, 30);
  if (own.empty()) return name + faint(paint, "read lessons/" + lesson.folder + "/README.md");
  const Totals totals = totals_of(own);
  return text(name, bar(totals.solved, totals.exercises, bar_columns, paint), "  ",
              padded(text(totals.solved, " of ", totals.exercises), 10), totals.points, "/",
              totals.points_max, " points");
}

const std::pair<const std::string, Standing>* judged_last(const Progress& progress) {
  const std::pair<const std::string, Standing>* newest = nullptr;
  for (const auto& entry : progress) {
    if (!entry.second.last) continue;
    const bool newer =
        newest == nullptr || entry.second.last->judged_at > newest->second.last->judged_at;
    if (newer) newest = &entry;
  }
  return newest;
}

std::string last_verdict(const Progress& progress, std::int64_t now) {
  const auto* newest = judged_last(progress);
  if (newest == nullptr) return "";
  const Judged& last = *newest->second.last;
  const std::string why = last.message.empty() ? "" : ": " + last.message;
  return text("last      ", newest->first, ", ", last.verdict, ", ", ago(now - last.judged_at), why,
              "\n");
}

std::string predictions_line(const std::vector<PredictionRow>& rows) {
  const PredictionRow* open = open_prediction(rows);
  return text("predict   ", predictions_text(rows),
              open == nullptr ? std::string() : text(": ./lab predict ", open->name()), "\n");
}

// Exercises for which this one is needed.
std::vector<std::string> opened_by(const Exercise& exercise, const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    const auto& after = row.exercise->after;
    if (std::find(after.begin(), after.end(), exercise.handle()) != after.end()) {
      names.push_back(row.exercise->handle());
    }
  }
  return names;
}

std::string why_text(const Lab& lab, const std::vector<Row>& rows, const Exercise& exercise) {
  const auto own = std::find_if(rows.begin(), rows.end(),
                                [&](const Row& row) { return row.exercise == &exercise; });
  const bool first = own == rows.begin() || (own - 1)->exercise->lesson != exercise.lesson;
  if (own->state == State::updated) {
    return "the course has a new version of it";
  }
  // ./lab start judges the first part before anybody has written to it.
  const bool begun = own->state == State::not_yet || own->state == State::changed;
  if (begun && own->verdict != "unsolved") {
    return "you have started it" + (own->verdict.empty() ? "" : "; last verdict: " + own->verdict);
  }
  const auto opens = opened_by(exercise, rows);
  if (!opens.empty()) return joined(opens) + (opens.size() == 1 ? " builds" : " build") + " on it";
  const auto of_lesson = [&](const Lesson& lesson) { return lesson.folder == exercise.lesson; };
  const auto lesson = std::find_if(lab.course.lessons.begin(), lab.course.lessons.end(), of_lesson);
  if (exercise.kind == Kind::quiz) return "the questions on " + lesson->title;
  return (first ? "the first in " : "the next in ") + lesson->title;
}

nlohmann::json overview_json(const std::vector<Row>& rows, const Progress& progress,
                             const Exercise* next) {
  const Totals totals = totals_of(rows);
  nlohmann::json document{{"solved", totals.solved}, {"exercises", totals.exercises},
                          {"points", totals.points}, {"max_points", totals.points_max},
                          {"next", nullptr},         {"last", nullptr}};
  if (next != nullptr) document["next"] = next->handle();
  if (const auto* newest = judged_last(progress)) {
    const Judged& last = *newest->second.last;
    document["last"] = {{"exercise", newest->first},
                        {"verdict", last.verdict},
                        {"cause", last.cause},
                        {"message", last.message},
                        {"judged_at", last.judged_at}};
  }
  return document;
}

}  // namespace

std::string ago(std::int64_t seconds) {
  constexpr std::pair<std::int64_t, const char*> units[] = {
      {86400, "day"}, {3600, "hour"}, {60, "minute"}};
  for (const auto& [length, name] : units) {
    const std::int64_t count = seconds / length;
    if (count > 0) return text(count, " ", name, count == 1 ? "" : "s", " ago");
  }
  return "just now";
}

std::string overview_text(const Lab& lab, const Progress& progress, const std::vector<Row>& rows,
                          const Exercise* next, std::int64_t now) {
  const Totals totals = totals_of(rows);
  std::string out = text(bold(lab.paint, padded("Lockstep", 30)),
                         bar(totals.solved, totals.exercises, bar_columns, lab.paint), "  ",
                         padded(text(totals.solved, " of ", totals.exercises), 10), totals.points,
                         "/", totals.points_max, " points\n");
  for (const Lesson& lesson : lab.course.lessons)
    out += lesson_line(lesson, rows, lab.paint) + "\n";
  out += "\n" + last_verdict(progress, now);
  const auto predictions = prediction_rows(lab);
  if (!predictions.empty()) out += predictions_line(predictions);
  if (next == nullptr) return out + "next      nothing: you have solved the whole course\n";
  return out + text("next      ", bold(lab.paint, next->handle()), ", about ", next->minutes,
                    " minutes: ./lab next\n",
                    "          ./lab watch judges at every save, ./lab hint shows a hint, ./lab "
                    "help lists the commands\n");
}

std::string next_text(const Lab& lab, const std::vector<Row>& rows, const Exercise& next) {
  const auto open = open_before(next, rows);
  const bool quiz = next.kind == Kind::quiz;
  std::string out =
      text(bold(lab.paint, next.address()), "  about ", next.minutes, " minutes, ",
           difficulty_text(next), next.core ? "" : ", optional", ", ", next.points, " points\n");
  out += "  why       " + why_text(lab, rows, next) + "\n";
  if (!open.empty()) out += "  before    " + joined(open) + ", not solved yet\n";
  out += "  read      lessons/" + next.reading + "/README.md\n";
  if (quiz) return out + "  answer    ./lab quiz " + next.lesson.substr(0, 2) + "\n";
  return out + text("  task      ./lab show ", next.handle(), "\n  edit      work/", next.file(),
                    "\n  judge     ./lab watch ", next.handle(), "\n");
}

Exit overview_command(const Lab& lab, const Words& words) {
  Options options("./lab",
                  "Shows your progress: lessons, solved exercises, points, and what comes next.");
  options.flag("json", "print one JSON document instead of text");
  const Arguments arguments = parsed(options, words);
  if (arguments.asks_help()) return print_help(options);
  const Progress progress = read_progress(lab.places.progress());
  const auto rows = rows_of(lab, progress);
  const Exercise* next = exercise_at_hand(lab, progress);
  if (arguments.flag("json")) {
    std::cout << write_json(overview_json(rows, progress, next), 2) << "\n";
  } else {
    std::cout << wrapped(overview_text(lab, progress, rows, next, seconds_now()), lab.columns);
    if (const auto ahead = built_ahead_now(lab)) {
      std::cout << wrapped(text("building  ", *ahead,
                                ", in the background, so that its first check "
                                "is quick (LOCKSTEP_BACKGROUND=0 forbids it)\n"),
                           lab.columns);
    }
  }
  return Exit::passed;
}

Exit next_command(const Lab& lab, const Words& words) {
  Options options("./lab next", "Shows the next exercise: why it is next, and what to type.");
  options.flag("json", "print one JSON document instead of text");
  const Arguments arguments = parsed(options, words);
  if (arguments.asks_help()) return print_help(options);
  const Progress progress = read_progress(lab.places.progress());
  const auto rows = rows_of(lab, progress);
  const Exercise* next = exercise_at_hand(lab, progress);
  if (arguments.flag("json")) {
    nlohmann::json document = nullptr;
    for (const Row& row : rows) {
      if (row.exercise == next) document = json_of(row, rows);
    }
    std::cout << write_json(document, 2) << "\n";
  } else if (next == nullptr) {
    std::cout << "every exercise is solved; ./lab list shows them\n";
  } else {
    std::cout << wrapped(next_text(lab, rows, *next), lab.columns);
  }
  if (next != nullptr) build_ahead(lab);
  return Exit::passed;
}

}  // namespace lockstep::grader
