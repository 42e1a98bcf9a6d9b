#include "grader/batch/roster.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/readable_name.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
constexpr std::size_t roster_bytes_max = 8 << 20;
constexpr std::size_t shown_max = 60;  // of a cell, in a sentence

[[noreturn]] void refuse_roster(int line, const std::string& what) {
  throw UsageError(text("the roster's line ", line, ": ", what));
}

std::string shown(const std::string& cell_text) { return sim::printable(cell_text, shown_max); }

std::string without_mark(const std::string& bytes) {
  if (bytes.size() > roster_bytes_max) {
    throw UsageError(
        text("the roster has more than ", roster_bytes_max, " bytes: is it a CSV file?"));
  }
  const bool wide = bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff") ||
                    bytes.substr(0, 4).find('\0') != std::string::npos;
  if (wide) throw UsageError("the roster is UTF-16: save it again as \"CSV UTF-8\"");
  return bytes.starts_with("\xef\xbb\xbf") ? bytes.substr(3) : bytes;
}

// The separator that the first line has most of, outside quotes.
char separator_of(const std::string& text) {
  std::array<std::pair<char, std::size_t>, 3> seen{{{',', 0}, {';', 0}, {'\t', 0}}};
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r')) break;
    for (auto& [separator, count] : seen) count += !quoted && c == separator ? 1 : 0;
  }
  return std::max_element(seen.begin(), seen.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::string trimmed(const std::string& cell_text) {
  const char* const blank = " \t\r\n";
  const std::size_t first = cell_text.find_first_not_of(blank);
  if (first == std::string::npos) return "";
  return cell_text.substr(first, cell_text.find_last_not_of(blank) - first + 1);
}

// Cell by cell, as RFC 4180 says; a quote inside a cell that does not begin with one is a letter.
class SheetReader {
 public:
  explicit SheetReader(const std::string& text) : text_(text), separator_(separator_of(text)) {}

  std::vector<SpreadsheetRow> rows() {
    std::vector<SpreadsheetRow> all;
    while (at_ < text_.size()) {
      SpreadsheetRow row{line_, {}};
      do row.cells.push_back(trimmed(cell_text()));
      while (take(separator_));
      end_line();
      const bool blank = std::all_of(row.cells.begin(), row.cells.end(),
                                     [](const std::string& one) { return one.empty(); });
      if (!blank) all.push_back(std::move(row));
    }
    return all;
  }

 private:
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void end_line() {
    const bool returned = take('\r');
    if (!take('\n') && !returned && at_ < text_.size()) {
      refuse_roster(line_, "after a closing quote comes neither a separator nor the line's end");
    }
    ++line_;
  }
  std::string cell_text() {
    if (take('"')) return quoted_cell();
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' &&
           text_[at_] != '\r') {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  std::string quoted_cell() {
    const int opened = line_;
    std::string inside;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) return inside;
      line_ += c == '\n' ? 1 : 0;
      inside += c;
    }
    refuse_roster(opened, "a quote is opened and never closed");
  }

  const std::string& text_;
  const char separator_;
  std::size_t at_ = 0;
  int line_ = 1;
};

constexpr std::array heading_words{
    "student",      "students",  "student id",    "student name",   "student number",
    "id",           "name",      "names",         "user",           "username",
    "user name",    "userid",    "login",         "login id",       "sid",
    "e-mail",       "email",     "email address", "e-mail address", "section",
    "first name",   "last name", "surname",       "full name",      "sis user id",
    "sis login id", "identifier"};
constexpr std::array student_columns{"student", "username", "user name", "user",
                                     "login",   "login id", "id"};

std::size_t column_called(const std::vector<std::string>& cells, const std::string& name) {
  const auto at = std::find_if(cells.begin(), cells.end(), [&](const std::string& one) {
    return lower_case(one) == lower_case(name);
  });
  return static_cast<std::size_t>(at - cells.begin());
}

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
  refuse_roster(heading.line,
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

void add_student(Roster& roster, const SpreadsheetRow& row, std::size_t column,
                 std::map<std::string, int>& line_of) {
  const std::string name = column < row.cells.size() ? row.cells[column] : "";
  if (name.empty()) {
    roster.notes.push_back(text("line ", row.line, " of the roster has no student's name"));
    return;
  }
  const auto [at, first] = line_of.emplace(readable_name(name), row.line);
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

std::vector<SpreadsheetRow> read_spreadsheet(const std::string& bytes) {
  const std::string content = without_mark(bytes);
  std::vector<SpreadsheetRow> rows = SheetReader(content).rows();
  for (const SpreadsheetRow& row : rows) {
    for (const std::string& one : row.cells) {
      if (one == sim::printable(one, one.size())) continue;
      refuse_roster(row.line,
                    "it is not UTF-8, or holds control characters: save it again as "
                    "\"CSV UTF-8\"");
    }
  }
  return rows;
}

Roster read_roster(const std::string& bytes, const std::string& column) {
  const std::vector<SpreadsheetRow> rows = read_spreadsheet(bytes);
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
  std::map<std::string, int> line_of;
  for (std::size_t i = headed ? 1 : 0; i < rows.size(); ++i) {
    add_student(roster, rows[i], student, line_of);
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
