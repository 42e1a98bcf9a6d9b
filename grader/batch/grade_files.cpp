#include "grader/batch/grade_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/batch/digest.hpp"
#include "grader/batch/grades.hpp"
#include "grader/batch/journal.hpp"

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
                  const std::vector<std::string>& formats) {
  const auto wanted = [&](const char* format) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  const fs::path students = out / "students";
  fs::create_directories(students);
  fs::permissions(students, fs::perms::owner_all);
  for (const json& student : grades.at("students")) {
    write_whole(students / report_name(student.at("student")),
                student_report(student, records).dump(1) + "\n");
  }
  if (wanted("json")) write_whole(out / "grades.json", grades.dump(1) + "\n");
  if (wanted("csv")) {
    write_whole(out / "grades.csv", grades_csv(grades));
    write_whole(out / "totals.csv", totals_csv(grades));
  }
  write_whole(out / "times.json", times_of(records).dump(1) + "\n");
}

}  // namespace lockstep::grader
