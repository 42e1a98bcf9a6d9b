#include "grader/batch/hand_ins/roster.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/readable_name.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
constexpr const char* sheet_name = "the roster";

std::string shown(const std::string& cell_text) {
  constexpr std::size_t shown_max = 60;  // of a cell, in a sentence
  return sim::printable(cell_text, shown_max);
}

constexpr std::array heading_words{
    "student",      "students",  "student id",    "student name",   "student number",
    "id",           "name",      "names",         "user",           "username",
    "user name",    "userid",    "login",         "login id",       "sid",
    "e-mail",       "email",     "email address", "e-mail address", "section",
    "first name",   "last name", "surname",       "full name",      "sis user id",
    "sis login id", "identifier"};
constexpr std::array student_columns{"student", "username", "user name", "user",
                                     "login",   "login id", "id"};

bool is_heading(const std::vector<std::string>& cells) {
  return std::any_of(heading_words.begin(), heading_words.end(),
                     [&](const char* word) { return column_called(cells, word) < cells.size(); });
}

std::size_t student_column(const std::vector<std::string>& heading) {
  for (const char* name : student_columns) {
    const std::size_t column = column_called(heading, name);
    if (column < heading.size()) return column;
  }
  return 0;
}

std::size_t chosen_column(const SpreadsheetRow& heading, const std::string& name) {
  const std::size_t column = column_called(heading.cells, name);
  if (column < heading.cells.size()) return column;
  std::string all;
  for (const std::string& one : heading.cells) all += (all.empty() ? "" : ", ") + shown(one);
  refuse_line(sheet_name, heading.line,
              "--student-column " + shown(name) + " is none of its columns, which are " + all);
}

// The headings besides the student's: each has a name, and no two the same.
std::vector<std::string> other_columns(const std::vector<std::string>& heading, std::size_t student,
                                       std::size_t count) {
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == student) continue;
    std::string name = i < heading.size() ? heading[i] : "";
    if (name.empty() || column_called(columns, name) < columns.size()) {
      name = text("column ", i + 1);
    }
    columns.push_back(std::move(name));
  }
  return columns;
}

void add_student(Roster& roster, const SpreadsheetRow& row, std::size_t column) {
  const std::string name = column < row.cells.size() ? row.cells[column] : "";
  if (name.empty()) {
    roster.notes.push_back(text("line ", row.line, " of the roster has no student's name"));
    return;
  }
  const auto [at, first] = roster.lines.emplace(readable_name(name), row.line);
  if (!first) {
    roster.notes.push_back(text("line ", row.line, " of the roster names ", at->first,
                                " again: line ", at->second, " counts"));
    return;
  }
  std::vector<std::string>& cells = roster.students[at->first];
  cells.assign(roster.columns.size(), "");
  for (std::size_t i = 0, to = 0; i < row.cells.size(); ++i) {
    if (i != column) cells[to++] = row.cells[i];
  }
}

}  // namespace

Roster read_roster(const std::string& bytes, const std::string& column) {
  const std::vector<SpreadsheetRow> rows = read_spreadsheet(bytes, sheet_name);
  if (rows.empty()) throw UsageError("the roster is empty: it should hold a line for each student");
  const bool headed = !column.empty() || is_heading(rows.front().cells);
  const std::size_t student = !column.empty() ? chosen_column(rows.front(), column)
                              : headed        ? student_column(rows.front().cells)
                                              : 0;
  std::size_t count = 0;
  for (const SpreadsheetRow& row : rows) count = std::max(count, row.cells.size());
  Roster roster;
  const std::vector<std::string> no_heading;
  roster.columns = other_columns(headed ? rows.front().cells : no_heading, student, count);
  for (std::size_t i = headed ? 1 : 0; i < rows.size(); ++i) {
    add_student(roster, rows[i], student);
  }
  if (roster.students.size() > roster_students_max) {
    throw UsageError(text("the roster names ", roster.students.size(), " students, more than the ",
                          roster_students_max,
                          " that one ./lab grade takes: grade parts of them, each with its --out"));
  }
  if (roster.students.empty()) {
    throw UsageError("the roster has a heading and no students below it");
  }
  return roster;
}

json json_of(const Roster& roster) {
  return {{"columns", roster.columns}, {"students", roster.students}, {"notes", roster.notes}};
}

Roster roster_from(const json& record) {
  return {record.at("columns").get<std::vector<std::string>>(),
          record.at("students").get<std::map<std::string, std::vector<std::string>>>(),
          record.at("notes").get<std::vector<std::string>>()};
}

}  // namespace lockstep::grader
