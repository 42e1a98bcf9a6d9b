#include "grader/export/class_book.hpp"

#include <cstdio>

#include "grader/export/escaped.hpp"
#include "grader/export/gradebook.hpp"
#include "grader/export/hidden_cases.hpp"
#include "grader/export/junit.hpp"
#include "grader/export/overview_page.hpp"
#include "grader/export/platforms.hpp"
#include "grader/export/student_page.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// One file of each student, for a platform that shows it as soon as it is there.
std::vector<BookFile> for_each_student(const ClassBook& book, const std::string& folder,
                                       const std::string& ending,
                                       std::string (*written)(const json& report)) {
  std::vector<BookFile> files;
  for (const json& report : book.reports) {
    const std::string stem = file_stem(report.at("student"));
    files.push_back({std::filesystem::path(folder) / (stem + ending),
                     written(book.cases == Cases::shown ? report : without_cases(report))});
  }
  return files;
}

std::vector<BookFile> pages(const ClassBook& book) {
  std::vector<BookFile> files{{"overview.html", overview_page(book)}};
  for (const json& report : book.reports) {
    const std::filesystem::path stem =
        std::filesystem::path("students") / file_stem(report.at("student"));
    files.push_back({stem.string() + ".html", student_page(book, report)});
    files.push_back({stem.string() + ".md", student_markdown(book, report)});
  }
  return files;
}

}  // namespace

std::vector<BookFile> files_of(const ClassBook& book, const std::string& format) {
  if (format == "html") return pages(book);
  if (format == "csv") {
    return {{"gradebook.csv", gradebook_csv(book)}, {"canvas.csv", canvas_csv(book)}};
  }
  if (format == "gradescope") return for_each_student(book, format, ".json", gradescope_json);
  if (format == "autolab") return for_each_student(book, format, ".txt", autolab_output);
  if (format == "prairielearn") return for_each_student(book, format, ".json", prairielearn_json);
  if (format == "junit") return for_each_student(book, format, ".xml", junit_xml);
  return {};
}

std::string file_stem(const std::string& name) {
  constexpr std::size_t length_max = 200, kept = 150;
  const std::string student = escaped_file_name(name);
  if (student.size() <= length_max) return student;
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a: to tell names apart, not to be safe
  for (const char c : student) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char mark[20];
  std::snprintf(mark, sizeof mark, "~%016llx", static_cast<unsigned long long>(hash));
  return student.substr(0, kept) + mark;
}

bool is_open(const json& row) {
  return row.at("verdict") == "infrastructure" && row.at("by_hand") == false;
}

std::string note_on_open_rows(const json& rows) {
  std::string names;
  for (const json& row : rows) {
    if (is_open(row)) names += (names.empty() ? "" : ", ") + handle_of(row.at("exercise"));
  }
  return names.empty() ? "" : names + ": no points yet, since the lab itself failed there";
}

RowStatus status_of(const json& row) {
  if (is_open(row)) return RowStatus::open;
  const int points = row.at("points"), most = row.at("max_points");
  if (points >= most && most > 0) return RowStatus::full;
  if (points > 0) return RowStatus::part;
  return row.at("verdict") == "missing" ? RowStatus::missing : RowStatus::nothing;
}

const json* first_failing(const json& row) {
  const auto checks = row.find("checks");
  if (checks == row.end()) return nullptr;
  const json* first = nullptr;
  for (const json& check : *checks) {
    const auto& verdict = check.at("verdict").get_ref<const std::string&>();
    if (verdict == "pass" || verdict == "skipped") continue;
    if (verdict == row.at("verdict").get_ref<const std::string&>())
      return &check;  // what the verdict is about
    if (first == nullptr) first = &check;
  }
  return first;
}

std::string sentence_of(const json& row) {
  if (row.at("verdict") == "infrastructure") {
    return "The lab itself failed here; this is not held against you.";
  }
  if (const json* check = first_failing(row); check != nullptr) {
    const std::string message = check->value("message", "");
    if (!message.empty()) return message;
  }
  const std::string message = row.value("message", "");
  return !message.empty() ? message : row.value("reason", "");
}

std::string lesson_of(const std::string& address) { return address.substr(0, address.find('/')); }

std::string name_in(const std::string& address) { return address.substr(address.find('/') + 1); }

std::string handle_of(const std::string& address) {
  return name_in(address) == "quiz" ? address : name_in(address);
}

std::string percent(int points, int max_points) {
  if (max_points <= 0) return "0";
  const int tenths = (2000 * points + max_points) / (2 * max_points);
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10));
}

std::string lesson_heading(const ClassBook& book, const std::string& lesson) {
  const auto title = book.lesson_titles.find(lesson);
  if (title == book.lesson_titles.end()) return lesson;
  return lesson.substr(0, 2) + " " + title->second;
}

}  // namespace lockstep::grader
