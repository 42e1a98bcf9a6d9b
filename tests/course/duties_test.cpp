// Every duty that an exam judges beside the values is a sentence of the task, too.
#include <filesystem>

#include "grader/course/manifest.hpp"
#include "grader/course/proofs/contract_table.hpp"
#include "grader/course/task.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

// A check whose name has `judged` asks for something that a task tells in one of these words.
struct Duty {
  std::string judged;
  std::vector<std::string> told;
};

const std::vector<Duty> duties{{"peer is lost", {"CommError", "is lost", "dies"}},
                               {"refuse", {"refus", "ContractError", "throws", "throw"}}};

bool has_any(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("tasks: lost peers and refusals that are judged are told") {
  const fs::path root = LOCKSTEP_ROOT;
  const Course course = read_course(root / "exercises/course.toml");
  int judged = 0;
  for (const Exercise& exercise : course.exercises) {
    const fs::path table = root / "tests/exercises" / exercise.address() / "contract.toml";
    if (!fs::exists(table)) continue;
    const std::string task = read_task(root / "exercises" / (exercise.address() + ".md")).text;
    for (const auto& [sentence, checks] : read_contract_table(table).checks) {
      for (const std::string& check : checks) {
        for (const Duty& duty : duties) {
          if (check.find(duty.judged) == std::string::npos) continue;
          INFO(exercise.address() << ": '" << check << "' is no sentence of the task");
          CHECK(has_any(task, duty.told));
          ++judged;
        }
      }
    }
  }
  CHECK(judged >= 40);
}
