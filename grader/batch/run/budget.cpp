#include "grader/batch/run/budget.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "grader/batch/run/current_results.hpp"

namespace lockstep::grader {
namespace {

constexpr double waiting_share = 0.2;
// No machine is so busy that a file which wants a processor gets less.
constexpr double share_of_a_processor_min = 0.02;

// How long it was the file that the grader waited for.
double waited_s(const Use& use) {
  const bool asleep = use.processor_s < share_of_a_processor_min * use.wall_s;
  return asleep ? use.wall_s : std::min(use.wall_s, use.idle_s);
}

}  // namespace

double charge_of(const Use& use) {
  return std::max(use.processor_s, waiting_share * waited_s(use));
}

bool slept(const Use& use) {
  return use.processor_s < waiting_share * use.wall_s && waited_s(use) > use.wall_s / 2;
}

double budget_of(const nlohmann::json& settings) {
  const auto limits = settings.find("limits");
  if (limits == settings.end() || !limits->is_object()) {
    return std::numeric_limits<double>::infinity();
  }
  return limits->value("student_s", std::numeric_limits<double>::infinity());
}

Budgets::Budgets(double budget_s, const nlohmann::json& plan,
                 const std::vector<nlohmann::json>& records)
    : budget_s_(budget_s) {
  for (const auto& student : plan.at("students")) {
    std::vector<File> files;
    for (const auto& exercise : plan.at("exercises")) {
      const std::string address = exercise.at("exercise");
      const auto answer = student.at("answers").find(address);
      if (answer == student.at("answers").end() || !answer->contains("sha256")) continue;
      files.emplace_back(address, answer->at("sha256").get<std::string>());
      owners_[files.back()].insert(files_.size());
    }
    files_.push_back(std::move(files));
  }
  for (const auto& [judged, record] : current_results(records)) {
    charge(judged, record->value("charge_s", 0.0), Figure::final);
  }
}

void Budgets::charge(const File& file, double seconds, Figure figure) {
  charges_[file] = {seconds, figure};
}

bool Budgets::beyond(const File& file, Figure counted) const {
  const auto owners = owners_.find(file);
  if (owners == owners_.end()) return false;
  return std::all_of(owners->second.begin(), owners->second.end(), [&](std::size_t student) {
    Account account(budget_s_);
    for (const File& earlier : files_[student]) {
      if (earlier == file) return !account.is_open();
      const auto found = charges_.find(earlier);
      const bool counts = found != charges_.end() &&
                          (found->second.figure == Figure::final || counted == Figure::provisional);
      if (counts && account.is_open()) account.charge(found->second.seconds);
    }
    return false;
  });
}

}  // namespace lockstep::grader
