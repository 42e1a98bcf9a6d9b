#include "grader/tool/tool.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>

#include "engine/base/edition.hpp"
#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/base/program.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/course/moved_exercise.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

// Read from the environment: NO_COLOR is a person's wish, not an option of a run.
Paint paint_of_terminal() {
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  return colour ? Paint::colour : Paint::plain;
}

std::size_t columns_of_terminal(int line) {
  winsize size{};
  const bool there = ::isatty(line) == 1 && ::ioctl(line, TIOCGWINSZ, &size) == 0;
  return there ? size.ws_col : 0;
}

// An error may quote what a stranger wrote.
void complain(const std::string& why) {
  constexpr std::size_t bytes_max = 16 << 10;
  std::cerr << wrapped(text("lab: ", sim::printable(why, bytes_max), "\n"),
                       columns_of_terminal(STDERR_FILENO));
}

// Becomes the other program, with this one's command line.
[[noreturn]] void become(const Lab& lab, const std::string& program, char** argv) {
  make_targets_ready(lab, {program});
  const auto path = lab.places.build / "bin" / program;
  ::execv(path.c_str(), argv);
  throw Error(text("cannot start ", path.string(), ": ", std::strerror(errno)));
}

// CMake notes them when it configures the build that this program lies in.
Places places_of_build() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  std::istringstream lines(read_text(program.parent_path().parent_path() / "places"));
  std::string root, build;
  std::getline(lines, root) && std::getline(lines, build);
  return {root, build};
}

Exit run(char** argv, Words words, const std::map<std::string, Command>& commands,
         const std::string& default_command, const std::map<std::string, std::string>& elsewhere) {
  Lab lab;
  if (const auto edition = folder_of_edition()) {
    lab.places = {*edition, *edition / "build" / "release"};
    lab.packed = true;
  } else {
    lab.places = places_of_build();
  }
  if (words.size() >= 2 && words[0] == "--root") {
    lab.places.root = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (!words.empty() && words[0] == "--build") {
    lab.builds = true;
    words.erase(words.begin());
  }
  if (!words.empty() && words[0] == "--ahead") {
    lab.ahead = true;
    words.erase(words.begin());
  }
  const std::string name = words.empty() ? default_command : words.front();
  const auto other = elsewhere.find(name);
  if (other != elsewhere.end()) become(lab, other->second, argv);
  lab.course = read_course(lab.places.manifest());
  for (const std::string& moved : take_over_moved(lab.places, lab.course)) complain(moved);
  lab.paint = paint_of_terminal();
  lab.columns = columns_of_terminal(STDOUT_FILENO);
  lab.sanitized = LOCKSTEP_SANITIZED != 0;
  if (lab.sanitized) lab.limits.memory_bytes = 0;  // sanitizers map terabytes of shadow
  const auto found = commands.find(name);
  if (found == commands.end()) {
    std::vector<std::string> known;
    for (const auto& [command, unused] : commands) known.push_back(command);
    for (const auto& [command, unused] : elsewhere) known.push_back(command);
    throw UsageError(text("there is no command '", name, "'", did_you_mean(name, known),
                          " (./lab help lists all)"));
  }
  if (!words.empty()) words.erase(words.begin());
  return found->second(lab, words);
}

}  // namespace

int run_tool(int argc, char** argv, const std::map<std::string, Command>& commands,
             const std::string& default_command,
             const std::map<std::string, std::string>& elsewhere) {
  const auto tell = [](Fault fault, const std::string& sentence) {
    const bool ours = fault == Fault::other;
    complain(ours ? "the lab itself failed, this is not your code: " + sentence : sentence);
    return static_cast<int>(fault == Fault::usage     ? Exit::usage
                            : fault == Fault::lacking ? Exit::machine
                                                      : Exit::lab_failed);
  };
  return run_main(tell, [&] {
    return static_cast<int>(
        run(argv, Words(argv + 1, argv + argc), commands, default_command, elsewhere));
  });
}

}  // namespace lockstep::grader
