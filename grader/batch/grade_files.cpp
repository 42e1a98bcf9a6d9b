#include "grader/batch/grade_files.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.hpp"
#include "grader/batch/policy/pseudonyms.hpp"
#include "grader/batch/processes/journal.hpp"
#include "grader/batch/processes/secret.hpp"
#include "grader/batch/reports/grades.hpp"
#include "grader/export/class_book.hpp"
#include "grader/export/escaped.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The times of a run. They are no part of the grades, which are the same in every run.
json times_of(const std::vector<json>& records) {
  json times = json::array();
  for (const json& record : records) {
    if (record.at("record") != "result") continue;
    times.push_back({{"exercise", record.at("exercise")},
                     {"sha256", record.at("sha256")},
                     {"seconds", record.at("seconds")}});
  }
  return times;
}

std::vector<json> reports_of(const json& grades, const std::vector<json>& records) {
  std::vector<json> reports;
  const StudentReports of_class(records);
  for (const json& student : grades.at("students")) reports.push_back(of_class.of(student));
  return reports;
}

// In the order of the pseudonyms, since the order of names would tell.
ClassBook under_pseudonyms(const fs::path& out, const std::vector<json>& records,
                           const json& grades) {
  const std::string secret = kept_secret(out / "names.secret");
  std::map<std::string, std::pair<json, json>> by_name;
  const StudentReports of_class(records);
  std::string list = "pseudonym,student\n";
  for (const json& student : grades.at("students")) {
    const std::string name = student.at("student"), other = pseudonym(secret, name);
    list += cell(other) + "," + cell(name) + "\n";
    by_name[other] = {under_pseudonym(student, secret),
                      under_pseudonym(of_class.of(student), secret)};
  }
  write_whole(out / "names.csv", list);
  ClassBook written{grades, {}, {}};
  written.grades["columns"] = json::array();
  written.grades["students"] = json::array();
  for (auto& [name, both] : by_name) {
    written.grades["students"].push_back(std::move(both.first));
    written.reports.push_back(std::move(both.second));
  }
  return written;
}

// Removes what an earlier run wrote in other formats or under other names: it is no longer true,
// and it tells names that are hidden now.
void remove_others(const fs::path& out, const std::set<fs::path>& written) {
  std::vector<fs::path> others;
  for (const char* file : {"grades.json", "grades.csv", "totals.csv", "gradebook.csv", "canvas.csv",
                           "overview.html"}) {
    if (fs::is_regular_file(out / file)) others.push_back(out / file);
  }
  for (const char* folder : {"students", "gradescope", "autolab", "prairielearn", "junit"}) {
    if (!fs::is_directory(out / folder)) continue;
    for (const auto& entry : fs::directory_iterator(out / folder)) {
      if (entry.is_regular_file()) others.push_back(entry.path());
    }
  }
  for (const fs::path& file : others) {
    if (!written.contains(file)) fs::remove(file);
  }
}

// All of them, each below the folder; what they stand in is for the owner alone.
std::vector<BookFile> files_in(const std::vector<std::string>& formats, const ClassBook& book) {
  std::vector<BookFile> files;
  for (const json& report : book.reports) {
    files.push_back({fs::path("students") / (file_stem(report.at("student")) + ".json"),
                     report.dump(1) + "\n"});
  }
  for (const std::string& format : formats) {
    if (format == "json") files.push_back({"grades.json", book.grades.dump(1) + "\n"});
    if (format == "csv") {
      files.push_back({"grades.csv", grades_csv(book.grades)});
      files.push_back({"totals.csv", totals_csv(book.grades)});
    }
    for (BookFile& file : files_of(book, format)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

fs::path output_folder(const std::string& name) {
  if (name.empty()) throw UsageError("./lab grade needs --out DIR for the grades");
  const fs::path out = fs::absolute(name).lexically_normal();
  std::error_code failed;
  const bool made = fs::create_directories(out, failed);
  if (!fs::is_directory(out)) {
    throw UsageError(text("--out ", out.string(), " cannot be made: ", failed.message()));
  }
  if (made) fs::permissions(out, fs::perms::owner_all);
  return out;
}

void write_grades(const Output& output, const std::vector<json>& records, const json& grades,
                  const Course& course) {
  const fs::path& out = output.folder;
  ClassBook book = output.names == Names::hidden
                       ? under_pseudonyms(out, records, grades)
                       : ClassBook{grades, reports_of(grades, records), {}};
  for (const Lesson& lesson : course.lessons) book.lesson_titles[lesson.folder] = lesson.title;
  book.cases = output.cases;
  std::set<fs::path> written;
  for (const BookFile& file : files_in(output.formats, book)) {
    const fs::path path = out / file.path;
    if (path.parent_path() != out && fs::create_directories(path.parent_path())) {
      fs::permissions(path.parent_path(), fs::perms::owner_all);
    }
    write_whole(path, file.content);
    written.insert(path);
  }
  remove_others(out, written);
  write_whole(out / "times.json", times_of(records).dump(1) + "\n");
}

}  // namespace lockstep::grader
