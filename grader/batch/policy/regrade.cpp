#include "grader/batch/policy/regrade.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/batch/hand_ins/readable_name.hpp"
#include "grader/batch/hand_ins/spreadsheet.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

bool names(const Regrade& one, const std::string& address) {
  return one.exercises.empty() || one.exercises.contains(address);
}

void add_files(const Regrade& one, const json& student, std::set<json>& files) {
  for (const auto& [address, answer] : student.at("answers").items()) {
    if (!answer.contains("sha256") || !names(one, address)) continue;
    files.insert(json::array({address, answer.at("sha256")}));
  }
}

}  // namespace

std::vector<Regrade> read_regrades(const std::string& list, const Course& course) {
  std::vector<Regrade> all;
  for (const std::string& part : names_in_list(list, "--regrade")) {
    const std::size_t slash = slash_before_exercise(part);
    Regrade one{part, part.substr(0, slash), {}};
    if (one.student.empty()) {
      throw UsageError("--regrade " + list +
                       ": pass students or files, such as amy,bob/ring_all_reduce, or "
                       "'*/ring_all_reduce' for everybody");
    }
    if (one.student != "*") one.student = readable_name(one.student);
    if (slash != std::string::npos) {
      for (const Exercise* exercise : exercises_named(course, part.substr(slash + 1))) {
        one.exercises.insert(exercise->address());
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

json regrade_record(const std::vector<Regrade>& asked, const json& plan) {
  std::set<json> files;
  std::vector<std::string> known;
  for (const json& student : plan.at("students")) known.push_back(student.at("student"));
  for (const Regrade& one : asked) {
    bool is_there = one.student == "*";
    std::set<json> found;
    for (const json& student : plan.at("students")) {
      if (one.student != "*" && student.at("student") != one.student) continue;
      is_there = true;
      add_files(one, student, found);
    }
    if (!is_there) {
      throw UsageError(text("--regrade ", one.asked, ": there is no student ", one.student,
                            did_you_mean(one.student, known)));
    }
    if (found.empty()) {
      throw UsageError(text("--regrade ", one.asked, ": nothing of that was handed in"));
    }
    files.merge(found);
  }
  return {{"record", "regrade"}, {"files", files}};
}

std::vector<std::string> mixed_exercises(const std::vector<Regrade>& asked,
                                         const std::vector<std::string>& changed) {
  std::vector<std::string> mixed;
  for (const std::string& address : changed) {
    const bool for_all = std::any_of(asked.begin(), asked.end(), [&](const Regrade& one) {
      return one.student == "*" && names(one, address);
    });
    if (!for_all) mixed.push_back(address);
  }
  return mixed;
}

}  // namespace lockstep::grader
