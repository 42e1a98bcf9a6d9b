// lab-tool: the program behind ./lab for everything about exercises.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/batch/grade_command.hpp"
#include "grader/lab/lab.hpp"
#include "grader/lab/wrap.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::grader;

using Command = Exit (*)(const Lab&, const Words&);

const std::map<std::string, Command>& commands() {
  static const std::map<std::string, Command> all{{"check", check_command},
                                                  {"list", list_command},
                                                  {"show", show_command},
                                                  {"reset", reset_command},
                                                  {"begin", begin_command},
                                                  {"dev", dev_command},
                                                  {"trace", trace_command},
                                                  {"compare", compare_command},
                                                  {"with-work", with_work_command},
                                                  {"watch", watch_command},
                                                  {"hint", hint_command},
                                                  {"submit", submit_command},
                                                  {"quiz", quiz_command},
                                                  {"debug", debug_command},
                                                  {"overview", overview_command},
                                                  {"next", next_command},
                                                  {"solution", solution_command},
                                                  {"bench-check", bench_check_command},
                                                  {"grade", grade_command}};
  return all;
}

// The one place that reads the environment: NO_COLOR is a person's wish, not an option of a run.
Paint paint_of_terminal() {
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  return colour ? Paint::colour : Paint::plain;
}

std::size_t columns_of_terminal(int line) {
  winsize size{};
  const bool there = ::isatty(line) == 1 && ::ioctl(line, TIOCGWINSZ, &size) == 0;
  return there ? size.ws_col : 0;
}

Exit run(Words words) {
  Lab lab;
  lab.places = {LOCKSTEP_ROOT, LOCKSTEP_BUILD};
  if (words.size() >= 2 && words[0] == "--root") {
    lab.places.root = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  lab.course = read_course(lab.places.manifest());
  lab.paint = paint_of_terminal();
  lab.columns = columns_of_terminal(STDOUT_FILENO);
  lab.sanitized = LOCKSTEP_SANITIZED != 0;
  if (lab.sanitized) lab.limits.memory_bytes = 0;  // sanitizers map terabytes of shadow
  const std::string name = words.empty() ? "overview" : words.front();
  const auto found = commands().find(name);
  if (found == commands().end()) {
    std::vector<std::string> known;
    for (const auto& [command, unused] : commands()) known.push_back(command);
    throw UsageError(text("there is no command '", name, "'", did_you_mean(name, known),
                          " (./lab help lists all)"));
  }
  if (!words.empty()) words.erase(words.begin());
  return found->second(lab, words);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(run(Words(argv + 1, argv + argc)));
  } catch (const UsageError& error) {
    std::cerr << wrapped(text("lab: ", error.what(), "\n"), columns_of_terminal(STDERR_FILENO));
    return static_cast<int>(Exit::usage);
  } catch (const std::exception& error) {
    std::cerr << wrapped(
        text("lab: the lab itself failed, this is not your code: ", error.what(), "\n"),
        columns_of_terminal(STDERR_FILENO));
    return static_cast<int>(Exit::lab_failed);
  }
}
