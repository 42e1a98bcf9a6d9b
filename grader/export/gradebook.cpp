#include "grader/export/gradebook.hpp"

#include <algorithm>
#include <array>

#include "engine/base/text.hpp"
#include "grader/export/escaped.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

std::vector<std::string> lessons_in(const ClassBook& book) {
  std::vector<std::string> lessons;
  for (const json& exercise : book.grades.at("exercises")) {
    const std::string lesson = lesson_of(exercise.at("exercise"));
    if (lessons.empty() || lessons.back() != lesson) lessons.push_back(lesson);
  }
  return lessons;
}

// Points with a comma before them; none of an open row, and none where one is part of the sum.
std::string points_of_exercises(const json& student) {
  std::string out;
  for (const json& row : student.at("rows")) {
    out += is_open(row) ? "," : text(",", row.at("points").get<int>());
  }
  return out;
}

std::string points_of_lesson(const json& student, const std::string& lesson) {
  int points = 0;
  for (const json& row : student.at("rows")) {
    if (lesson_of(row.at("exercise")) != lesson) continue;
    if (is_open(row)) return ",";
    points += row.at("points").get<int>();
  }
  return text(",", points);
}

std::string sums_of(const json& student) {
  const int points = student.at("points"), most = student.at("max_points");
  const json& rows = student.at("rows");
  if (std::any_of(rows.begin(), rows.end(), is_open)) return text(",,", most, ",");
  return text(",", points, ",", most, ",", percent(points, most));
}

// Canvas's own columns, and under which headings of a roster they may be found.
struct CanvasColumn {
  const char* name;
  std::array<const char*, 3> also;
};
constexpr std::array<CanvasColumn, 5> canvas_columns{{
    {"Student", {"name", "full name", "student name"}},
    {"ID", {"canvas id", "user id", "id"}},
    {"SIS User ID", {"sis id", "student id", "student number"}},
    {"SIS Login ID", {"login", "username", "login id"}},
    {"Section", {"sections", "group", "class"}},
}};

std::string in_lower_case(std::string word) {
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return word;
}

std::string about(const json& student, const CanvasColumn& column) {
  std::string found;
  for (const auto& [name, value] : student.at("about").items()) {
    const std::string known = in_lower_case(name);
    if (known == in_lower_case(column.name)) return value;
    const bool similar =
        std::find(column.also.begin(), column.also.end(), known) != column.also.end();
    if (similar && found.empty()) found = value;
  }
  return found;
}

}  // namespace

std::string gradebook_csv(const ClassBook& book) {
  const std::vector<std::string> lessons = lessons_in(book);
  const json columns = book.grades.value("columns", json::array());
  std::string out = "student";
  for (const std::string name : columns) out += "," + cell(name);
  for (const json& exercise : book.grades.at("exercises")) {
    out += "," + cell(exercise.at("exercise"));
  }
  for (const std::string& lesson : lessons) out += "," + cell("lesson " + lesson);
  out += ",points,max_points,percent\n";
  for (const json& student : book.grades.at("students")) {
    out += cell(student.at("student"));
    for (const std::string name : columns) out += "," + cell(student.at("about").value(name, ""));
    out += points_of_exercises(student);
    for (const std::string& lesson : lessons) out += points_of_lesson(student, lesson);
    out += sums_of(student) + "\n";
  }
  return out;
}

std::string canvas_csv(const ClassBook& book) {
  std::string heading, possible = "    Points Possible,,,,";
  for (const CanvasColumn& column : canvas_columns) {
    heading += text(heading.empty() ? "" : ",", column.name);
  }
  for (const json& exercise : book.grades.at("exercises")) {
    heading += "," + cell(exercise.at("exercise"));
    possible += text(",", exercise.at("points").get<int>());
  }
  std::string out = heading + "\n" + possible + "\n";
  for (const json& student : book.grades.at("students")) {
    std::string line;
    for (const CanvasColumn& column : canvas_columns) {
      std::string value = about(student, column);
      const bool name = std::string(column.name) == "Student";
      const bool login = std::string(column.name) == "SIS Login ID";
      if (value.empty() && (name || login)) value = student.at("student");
      line += (name ? "" : ",") + cell(value);
    }
    out += line + points_of_exercises(student) + "\n";
  }
  return out;
}

}  // namespace lockstep::grader
