#include "grader/batch/grade_files.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.hpp"
#include "grader/batch/digest.hpp"
#include "grader/batch/grades.hpp"
#include "grader/batch/journal.hpp"
#include "grader/batch/pseudonyms.hpp"
#include "grader/batch/secret.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A student's name may be longer than a file's may be.
std::string report_name(const std::string& student) {
  constexpr std::size_t length_max = 200, kept = 150;
  if (student.size() <= length_max) return student + ".json";
  return student.substr(0, kept) + "~" + sha256(student).substr(0, 16) + ".json";
}

// Where the time went: no part of the grades, which are the same in every run.
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

struct Written {
  json grades;
  std::vector<json> reports;  // of the students, in the grades' order
};

std::vector<json> reports_of(const json& grades, const std::vector<json>& records) {
  std::vector<json> reports;
  for (const json& student : grades.at("students")) {
    reports.push_back(student_report(student, records));
  }
  return reports;
}

// In the order of the pseudonyms, since the order of names would tell.
Written under_pseudonyms(const fs::path& out, const std::vector<json>& records,
                         const json& grades) {
  const std::string secret = kept_secret(out / "names.secret");
  std::map<std::string, std::pair<json, json>> by_name;
  std::string list = "pseudonym,student\n";
  for (const json& student : grades.at("students")) {
    const std::string name = student.at("student"), other = pseudonym(secret, name);
    list += cell(other) + "," + cell(name) + "\n";
    by_name[other] = {under_pseudonym(student, secret),
                      under_pseudonym(student_report(student, records), secret)};
  }
  write_whole(out / "names.csv", list);
  Written written{grades, {}};
  written.grades["columns"] = json::array();
  written.grades["students"] = json::array();
  for (auto& [name, both] : by_name) {
    written.grades["students"].push_back(std::move(both.first));
    written.reports.push_back(std::move(both.second));
  }
  return written;
}

// Reports of an earlier run under other names.
void remove_others(const fs::path& folder, const std::set<fs::path>& files) {
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && !files.contains(entry.path())) others.push_back(entry.path());
  }
  for (const fs::path& file : others) fs::remove(file);
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

void write_grades(const fs::path& out, const std::vector<json>& records, const json& grades,
                  const std::vector<std::string>& formats, Names names) {
  const auto wanted = [&](const char* format) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  const Written written = names == Names::hidden ? under_pseudonyms(out, records, grades)
                                                 : Written{grades, reports_of(grades, records)};
  const fs::path students = out / "students";
  fs::create_directories(students);
  fs::permissions(students, fs::perms::owner_all);
  std::set<fs::path> files;
  for (const json& report : written.reports) {
    const fs::path file = students / report_name(report.at("student"));
    write_whole(file, report.dump(1) + "\n");
    files.insert(file);
  }
  remove_others(students, files);
  if (wanted("json")) write_whole(out / "grades.json", written.grades.dump(1) + "\n");
  if (wanted("csv")) {
    write_whole(out / "grades.csv", grades_csv(written.grades));
    write_whole(out / "totals.csv", totals_csv(written.grades));
  }
  write_whole(out / "times.json", times_of(records).dump(1) + "\n");
}

}  // namespace lockstep::grader
