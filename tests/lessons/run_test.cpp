// The runs that lessons show print what the lessons say. They run in the root, with a shell, and
// with the programs of the build this test belongs to.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/lessons/text.hpp"

using namespace lockstep::lessons;

namespace {

struct Outcome {
  std::string output;  // stdout and stderr together
  int status = 0;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos;) {
    text.replace(at, what.size(), by);
    at = text.find(what, at + by.size());
  }
  return text;
}

// ./lab builds before it runs; a test must not build while it is being run by one. So the lesson's
// "./lab" is told to take the programs of this build as they are, and so are those named by path.
std::string as_run_here(const std::string& command) {
  const std::string with_lab = replaced(command, "./lab ", "./lab --built '" LOCKSTEP_BUILD "' ");
  return replaced(with_lab, "build/release/bin/", LOCKSTEP_BUILD "/bin/");
}

Outcome run_shell(const std::string& command) {
  const std::string script = "cd '" LOCKSTEP_ROOT "' && { " + command + "} 2>&1";
  std::FILE* pipe = popen(script.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), n);
  }
  outcome.status = pclose(pipe);
  return outcome;
}

// A run that takes long prints how far it is, every few seconds: how often, the machine decides.
std::string without_progress(const std::string& output) {
  std::istringstream lines(output);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("step ")) kept += line + "\n";
  }
  return kept;
}

}  // namespace

TEST_CASE("lessons: every run that is shown succeeds and prints what is shown") {
  for (const Document& document : documents()) {
    for (const Run& run : runs_of(document.text)) {
      INFO(document.path << ":" << run.line << "\n" << run.command);
      REQUIRE_FALSE(run.expected.empty());
      const Outcome outcome = run_shell(as_run_here(run.command));
      INFO("expected\n" << run.expected << "\nseen\n" << outcome.output);
      CHECK((WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0));
      const bool shows_progress = run.expected.find("\nstep ") != std::string::npos;
      CHECK(output_matches(run.expected,
                           shows_progress ? outcome.output : without_progress(outcome.output)));
    }
  }
}
