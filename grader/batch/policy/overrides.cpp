#include "grader/batch/policy/overrides.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/readable_name.hpp"
#include "grader/batch/hand_ins/spreadsheet.hpp"

namespace lockstep::grader {
namespace {

constexpr std::array override_columns{"student", "exercise", "points", "comment", "reason"};

// One table; what is wrong in it is said with the line and the column.
class OverrideReader {
 public:
  OverrideReader(const std::string& bytes, const std::string& name, const Course& course)
      : name_(name), course_(course), rows_(read_spreadsheet(bytes, name)) {
    if (rows_.empty()) throw UsageError(text(name, " is empty: ", headings_wanted()));
    const SpreadsheetRow& heading = rows_.front();
    for (const std::string& cell : heading.cells) {
      const bool known = std::any_of(override_columns.begin(), override_columns.end(),
                                     [&](const char* one) { return lower_case(cell) == one; });
      if (!known) {
        refuse_line(
            name, heading.line,
            text("there is no column '", sim::printable(cell, 60), "': ", headings_wanted()));
      }
    }
    if (column_called(heading.cells, "student") == heading.cells.size()) {
      refuse_line(name, heading.line, "there is no column student: " + headings_wanted());
    }
  }

  std::vector<Override> all() const {
    std::vector<Override> found;
    std::map<std::pair<std::string, std::string>, int> line_of;
    for (auto row = rows_.begin() + 1; row != rows_.end(); ++row) {
      found.push_back(one(*row));
      const auto [at, first] =
          line_of.emplace(std::pair(found.back().student, found.back().exercise), row->line);
      if (!first) {
        refuse_line(name_, row->line,
                    text("it speaks of the same student and exercise as line ", at->second,
                         ": keep one of them"));
      }
    }
    return found;
  }

 private:
  static std::string headings_wanted() {
    return "the first line names the columns, student,exercise,points,comment,reason";
  }
  [[noreturn]] void refuse_cell(const SpreadsheetRow& row, const char* column,
                                const std::string& expected) const {
    refuse_line(name_, row.line,
                text("column ", column, ": expected ", expected, ", and it says '",
                     sim::printable(cell(row, column), 60), "'"));
  }
  std::string cell(const SpreadsheetRow& row, const char* column) const {
    const std::size_t at = column_called(rows_.front().cells, column);
    return at < row.cells.size() ? row.cells[at] : "";
  }
  Override one(const SpreadsheetRow& row) const {
    if (row.cells.size() > rows_.front().cells.size()) {
      refuse_line(name_, row.line,
                  text("it has ", row.cells.size(), " cells, and the first line names ",
                       rows_.front().cells.size(),
                       " columns: put quotes around a text with a "
                       "separator in it"));
    }
    Override decided;
    decided.line = row.line;
    decided.student = readable_name(cell(row, "student"));
    if (decided.student.empty()) refuse_cell(row, "student", "a student's name");
    const Exercise* const exercise = exercise_of(row);
    if (exercise != nullptr) decided.exercise = exercise->address();
    decided.points = points_of(row, exercise);
    decided.comment = cell(row, "comment");
    decided.reason = cell(row, "reason");
    if (decided.points && decided.reason.empty()) {
      refuse_cell(row, "reason", "why the points are changed");
    }
    if (!decided.points && decided.comment.empty()) {
      refuse_cell(row, "points", "points, or a text in the column comment");
    }
    return decided;
  }
  const Exercise* exercise_of(const SpreadsheetRow& row) const {
    const std::string named = cell(row, "exercise");
    if (named.empty()) return nullptr;
    try {
      return &exercise_named(course_, named);
    } catch (const UsageError& unknown) {
      refuse_line(name_, row.line, text("column exercise: ", unknown.what()));
    }
  }
  std::optional<int> points_of(const SpreadsheetRow& row, const Exercise* exercise) const {
    const std::string written = cell(row, "points");
    if (written.empty()) return std::nullopt;
    if (exercise == nullptr) refuse_cell(row, "exercise", "the exercise that the points are for");
    const bool digits =
        written.size() < 6 && written.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoi(written) > exercise->points) {
      refuse_cell(row, "points", text("a whole number from 0 to ", exercise->points));
    }
    return std::stoi(written);
  }

  const std::string& name_;
  const Course& course_;
  std::vector<SpreadsheetRow> rows_;
};

}  // namespace

Overrides read_overrides(const std::string& bytes, const std::string& name, const Course& course) {
  return {name, OverrideReader(bytes, name, course).all()};
}

void refuse_strangers(const Overrides& overrides, const std::set<std::string>& students) {
  const std::vector<std::string> known(students.begin(), students.end());
  for (const Override& one : overrides.all) {
    if (students.contains(one.student)) continue;
    refuse_line(overrides.file, one.line,
                text("column student: there is no student ", one.student,
                     did_you_mean(one.student, known)));
  }
}

nlohmann::json json_of(const Overrides& overrides) {
  auto entries = nlohmann::json::array();
  for (const Override& one : overrides.all) {
    entries.push_back({{"student", one.student},
                       {"exercise", one.exercise},
                       {"points", one.points ? nlohmann::json(*one.points) : nlohmann::json()},
                       {"comment", one.comment},
                       {"reason", one.reason}});
  }
  return {{"entries", std::move(entries)}};
}

}  // namespace lockstep::grader
