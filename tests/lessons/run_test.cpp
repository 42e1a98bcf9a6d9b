// The runs that lessons show print what the lessons say. They run in the root, with a shell, and
// with the programs of the build this test belongs to.
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "tests/catch.hpp"
#include "tests/lessons/text.hpp"

using namespace lockstep::lessons;

namespace {

struct Outcome {
  std::string output;  // stdout and stderr together
  int status = 0;
};

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

}  // namespace

TEST_CASE("lessons: every run that is shown succeeds and prints what is shown") {
  for (const Document& document : documents()) {
    for (const Run& run : runs_of(document.text)) {
      INFO(document.path << ":" << run.line << "\n" << run.command);
      REQUIRE_FALSE(run.expected.empty());
      const Outcome outcome = run_shell(command_as_built(run.command, LOCKSTEP_BUILD));
      INFO("expected\n" << run.expected << "\nseen\n" << outcome.output);
      CHECK((WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0));
      CHECK(output_matches(run.expected, comparable_output(run.expected, outcome.output)));
    }
  }
}
