// Judges one hostile answer with lab-tool, as a student would, and compares what comes of it with
// what the file's first lines say (hostile_file.hpp). It adopts whatever the answer may have left
// behind, and complains of it.
#include <iostream>
#include <nlohmann/json.hpp>

#include "grader/course/compile/command.hpp"
#include "tests/course/scratch.hpp"
#include "tests/hostile/hostile_file.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

// Far more than any answer takes, in seconds without progress and in processor seconds.
constexpr double soon_s = 60;

std::string complaint_of(const fs::path& tool, const fs::path& root, const fs::path& answer) {
  const test::HostileFile hostile(answer, root);
  const Course course = read_course(root / "exercises" / "course.toml");
  const Exercise& exercise = exercise_named(course, hostile.exercise);
  const test::Scratch scratch;
  write_text(scratch.path() / exercise.file(), hostile.content);

  const CommandResult result = run_command(
      {tool.string(), "check", exercise.name, "--from", scratch.path().string(), "--json"}, root,
      {.deadline_s = soon_s, .work_s = soon_s});
  if (result.timed_out) return text("it was not judged within ", soon_s, " s");
  const auto document = nlohmann::json::parse(result.output, nullptr, false);
  if (document.is_discarded()) return "lab-tool gave no report: " + result.output;

  const std::string verdict = document.at("verdict");
  const std::string message = document.at("message");
  std::cout << verdict << ": " << message << "\n";
  if (verdict != hostile.verdict) {
    return "it is judged '" + verdict + "', not '" + hostile.verdict + "'";
  }
  if (message.find(hostile.says) == std::string::npos) {
    return "the sentence does not say '" + hostile.says + "'";
  }
  // Right but wasteful earns a part, as it does for everybody; what it lies about earns nothing.
  const bool earns = verdict == "pass" || verdict == "efficiency";
  if (!earns && document.at("points") != 0) return "it was given points";
  if (!test::nothing_left_behind()) return "it left a process behind";
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: hostile_answer LAB-TOOL ROOT ANSWER\n";
    return 2;
  }
  test::adopt_orphans();
  try {
    const std::string complaint = complaint_of(argv[1], argv[2], argv[3]);
    if (!complaint.empty()) std::cerr << argv[3] << ": " << complaint << "\n";
    return complaint.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << argv[3] << ": " << error.what() << "\n";
    return 1;
  }
}
