#include "grader/batch/run/plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "grader/batch/processes/digest.hpp"
#include "grader/batch/run/current_results.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

json planned(const Answer& answer) {
  if (answer.state == Answer::State::handed_in) return {{"sha256", sha256(answer.content)}};
  if (answer.state == Answer::State::missing) return {{"missing", answer.reason}};
  return {{"cause", answer.cause}, {"reason", answer.reason}};
}

}  // namespace

json plan_record(const std::vector<const Exercise*>& exercises,
                 const std::vector<Submission>& submissions,
                 const std::vector<std::string>& columns) {
  json course = json::array(), students = json::array();
  for (const Exercise* exercise : exercises) {
    course.push_back({{"exercise", exercise->address()}, {"points", exercise->points}});
  }
  for (const Submission& submission : submissions) {
    json answers = json::object();
    for (const auto& [address, answer] : submission.answers) answers[address] = planned(answer);
    students.push_back({{"student", submission.student},
                        {"cause", submission.cause},
                        {"reason", submission.reason},
                        {"on_roster", submission.on_roster},
                        {"about", submission.about},
                        {"answers", std::move(answers)}});
  }
  return {{"record", "plan"},
          {"exercises", std::move(course)},
          {"columns", columns},
          {"students", std::move(students)}};
}

json with_others(json plan, const json& before, const std::set<std::string>& only,
                 const Roster& roster) {
  json& students = plan.at("students");
  for (json student : before.at("students")) {
    const std::string name = student.at("student");
    if (only.contains(name)) continue;
    const auto listed = roster.students.find(name);
    if (!roster.students.empty()) {
      student["on_roster"] = listed != roster.students.end();
      student["about"] = listed != roster.students.end()
                             ? listed->second
                             : std::vector<std::string>(roster.columns.size());
    }
    students.push_back(std::move(student));
  }
  std::sort(students.begin(), students.end(), [](const json& a, const json& b) {
    return a.at("student").get_ref<const std::string&>() <
           b.at("student").get_ref<const std::string&>();
  });
  return plan;
}

std::vector<PlannedUnit> units_left(const std::vector<const Exercise*>& exercises,
                                    const std::vector<Submission>& submissions,
                                    const std::vector<json>& records, const std::string& secret) {
  std::set<std::pair<std::string, std::string>> known;
  for (const auto& [file, record] : current_results(records)) {
    if (record->at("verdict") != "infrastructure") known.insert(file);
  }
  std::vector<PlannedUnit> left;
  for (const Submission& submission : submissions) {
    if (!submission.cause.empty()) continue;
    for (const Exercise* exercise : exercises) {
      const auto answer = submission.answers.find(exercise->address());
      if (answer == submission.answers.end()) continue;
      if (answer->second.state != Answer::State::handed_in) continue;
      std::string digest = sha256(answer->second.content);
      if (!known.emplace(exercise->address(), digest).second) continue;
      const std::uint64_t seed = seed_of(secret, exercise->address() + " " + digest);
      left.push_back({{exercise, answer->second.content, seed}, std::move(digest)});
    }
  }
  return left;
}

}  // namespace lockstep::grader
