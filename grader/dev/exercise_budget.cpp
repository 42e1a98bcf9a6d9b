#include "grader/dev/exercise_budget.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

std::string tenths(double number) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << number;
  return out.str();
}

void check_mutants(const std::string& address, const ProofCost& proof, const int* allowed,
                   std::vector<std::string>& complaints) {
  const int alike = proof.mutants - proof.alone;
  if (alike <= mutants_max) {
    if (allowed != nullptr) {
      complaints.push_back(
          text(address, ": its ", proof.mutants, " mutants need no exception; take it out"));
    }
    return;
  }
  if (allowed == nullptr) {
    complaints.push_back(
        text(address, " has ", proof.mutants, " mutants; ", alike,
             " of them are not the only one that some check is the first to reject, and ",
             mutants_max, " of these prove as much as more would"));
  } else if (proof.mutants != *allowed) {
    complaints.push_back(
        text(address, " has ", proof.mutants, " mutants, and its exception is of ", *allowed,
             proof.mutants > *allowed ? "; it may only shrink" : "; make it so many"));
  }
}

}  // namespace

Exceptions read_exceptions(const std::string& content, const std::string& shown) {
  Exceptions exceptions;
  std::istringstream in(content);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string address, more;
    int mutants = 0;
    if (!(words >> address >> mutants) || words >> more) {
      throw UsageError(
          text(shown, ":", number, ": '", line, "': expected an exercise's address and a number"));
    }
    if (!exceptions.emplace(address, mutants).second) {
      throw UsageError(text(shown, ":", number, ": ", address, " is there twice"));
    }
  }
  return exceptions;
}

std::vector<std::string> budget_complaints(const std::vector<ExerciseCost>& costs,
                                           const Exceptions& exceptions) {
  std::vector<std::string> complaints;
  for (const ExerciseCost& cost : costs) {
    // The mutants of a quiz follow from its questions.
    if (cost.is_quiz()) continue;
    const auto found = exceptions.find(cost.address);
    check_mutants(cost.address, cost.proof, found == exceptions.end() ? nullptr : &found->second,
                  complaints);
  }
  return complaints;
}

std::vector<std::string> over_budget(const std::vector<ExerciseCost>& costs) {
  std::vector<std::string> lines;
  for (const ExerciseCost& cost : costs) {
    std::string line;
    const auto add = [&](const std::string& what, const std::string& number) {
      line += " " + what + " " + number;
    };
    if (cost.building_s() > building_max_s) add("building", tenths(cost.building_s()));
    if (cost.proving_s() > proving_max_s) add("proving", tenths(cost.proving_s()));
    if (!cost.is_quiz() && cost.proof.mutants - cost.proof.alone > mutants_max) {
      add("mutants", text(cost.proof.mutants));
    }
    if (!line.empty()) lines.push_back(cost.address + line);
  }
  return lines;
}

Exit costs_command(const Lab& lab, Words words) {
  const bool holds = std::erase(words, "--hold") > 0;
  if (!words.empty()) {
    throw UsageError(text("usage: ./lab dev costs [--hold]; '", words.front(), "' is too much"));
  }
  const auto costs = noted_costs(lab);
  std::cout << table_of(costs);
  const auto over = over_budget(costs);
  if (!over.empty()) {
    std::cout << "over the budget of " << building_max_s << " s of building, " << proving_max_s
              << " s of proving and " << mutants_max << " mutants alike:\n";
  }
  for (const std::string& line : over) std::cout << "  " << line << "\n";
  if (!holds) return Exit::passed;
  const std::filesystem::path file = lab.places.root / "tests/exercises/over_budget.txt";
  const Exceptions exceptions = read_exceptions(read_text(file), lab.places.shown(file));
  auto complaints = budget_complaints(costs, exceptions);
  for (const auto& [address, allowed] : exceptions) {
    if (std::ranges::find(lab.course.exercises, address, &Exercise::address) ==
        lab.course.exercises.end()) {
      complaints.push_back(
          text(lab.places.shown(file), " names ", address, ", which is no exercise"));
    }
  }
  for (const std::string& complaint : complaints) std::cout << complaint << "\n";
  return complaints.empty() ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
