// Judges one hostile answer with lab-tool, as a student would, and compares what comes of it with
// what the file's first lines say:
//   // exercise: ring_all_reduce
//   // verdict: rank exited
//   // says: called exit(0)          part of the sentence
// It adopts whatever the answer may have left behind, and complains of it.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/base/error.hpp"
#include "grader/course/command.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/text_file.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

// Far more than any answer takes on a machine that does nothing else.
constexpr double deadline_s = 60;

std::string header_of(const std::string& answer, const std::string& key) {
  const std::string mark = "// " + key + ": ";
  const std::size_t at = answer.find(mark);
  if (at == std::string::npos) throw Error("the answer does not begin with '" + mark + "…'");
  const std::size_t start = at + mark.size();
  return answer.substr(start, answer.find('\n', start) - start);
}

// Processes that are being killed need a moment; those that live on are left behind.
bool nothing_left_behind() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < until) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return true;
    if (ended == 0) std::this_thread::yield();
  }
  return false;
}

std::string complaint_of(const fs::path& tool, const fs::path& root, const fs::path& answer) {
  const std::string text_of_answer = read_text(answer);
  const Course course = read_course(root / "exercises" / "course.toml");
  const auto found = exercises_named(course, header_of(text_of_answer, "exercise"));
  const Exercise& exercise = *found.front();
  const test::Scratch scratch;
  write_text(scratch.path() / exercise.file(), text_of_answer);

  const CommandResult result = run_command(
      {tool.string(), "check", exercise.name, "--from", scratch.path().string(), "--json"}, root,
      {.deadline_s = deadline_s});
  if (result.timed_out) return text("it was not judged within ", deadline_s, " s");
  const auto document = nlohmann::json::parse(result.output, nullptr, false);
  if (document.is_discarded()) return "lab-tool gave no report: " + result.output;

  const std::string verdict = document.at("verdict");
  const std::string message = document.at("message");
  std::cout << verdict << ": " << message << "\n";
  const std::string wanted = header_of(text_of_answer, "verdict");
  const std::string says = header_of(text_of_answer, "says");
  if (verdict != wanted) return "it is judged '" + verdict + "', not '" + wanted + "'";
  if (message.find(says) == std::string::npos) return "the sentence does not say '" + says + "'";
  if (verdict != "pass" && document.at("points") != 0) return "it was given points";
  if (!nothing_left_behind()) return "it left a process behind";
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: hostile_answer LAB-TOOL ROOT ANSWER\n";
    return 2;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  try {
    const std::string complaint = complaint_of(argv[1], argv[2], argv[3]);
    if (!complaint.empty()) std::cerr << argv[3] << ": " << complaint << "\n";
    return complaint.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << argv[3] << ": " << error.what() << "\n";
    return 1;
  }
}
