// ./lab debug: one rank of the failing case under gdb, on this terminal; the others play as ever.
#include <csignal>
#include <filesystem>
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/trace/data.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/further/commands.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/ready.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

Options debug_options() {
  Options options("./lab debug",
                  "Opens one rank of the last failing case in gdb, at the start of your part.");
  options.words("NAME", "the exercise")
      .option("rank", "0", "the rank to debug; the others run as in a check")
      .option("from", "work", "debug the files in this folder")
      .option("seed", "", "the seed of a different case")
      .option("case", "", "a different case")
      .rest("GDB OPTIONS", "arguments for gdb, such as --batch -ex backtrace");
  return options;
}

// The word behind `option` in a line such as "./lab check ring --seed 1 --case 3"; "" without.
std::string word_behind(const std::string& line, const std::string& option) {
  const std::size_t at = line.find(option + " ");
  if (at == std::string::npos) return {};
  const std::size_t start = at + option.size() + 1;
  return line.substr(start, line.find(' ', start) - start);
}

// The line that the last check handed back; "" when it had none.
std::string last_replay(const Lab& lab, const Exercise& exercise) {
  const fs::path file = lab.places.timeline(exercise);
  if (!fs::exists(file)) return {};
  for (const auto& [name, value] : trace::read_data(read_text(file)).facts) {
    if (name == "again") return value;
  }
  return {};
}

std::string or_else(const std::string& given, const std::string& otherwise) {
  return given.empty() ? otherwise : given;
}

// Which case: what the command line says, or the last failure, or the first one.
void choose_case(const Arguments& arguments, const std::string& replay, JudgeOptions& options) {
  if (const std::string seed = word_behind(replay, "--seed"); !seed.empty()) {
    options.seed = std::stoull(seed);
  }
  if (arguments.given("seed")) {
    options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  }
  const std::string written =
      or_else(or_else(arguments.get("case"), word_behind(replay, "--case")), "1");
  options.only_case = case_address(written);
  if (!options.only_case)
    throw UsageError("--case " + written + " is not a case: pass a number, 1 or more");
}

// gdb, set up so that it begins the player and stops where the part begins.
std::vector<std::string> gdb_line(const Exercise& exercise, const std::vector<std::string>& more) {
  std::vector<std::string> words{"/usr/bin/gdb", "-q", "-nx"};
  const auto add = [&](const char* option, const std::string& command) {
    words.insert(words.end(), {option, command});
  };
  add("-iex", "set startup-with-shell off");  // a shell would have the rank's socket as well
  add("-iex", "set debuginfod enabled off");
  add("-iex", "set confirm off");
  for (const std::string& symbol : exercise.symbols) {
    add("-ex", "break " + symbol.substr(0, symbol.find('(')));
  }
  add("-ex", "run");
  words.insert(words.end(), more.begin(), more.end());
  words.emplace_back("--args");
  return words;
}

// A person thinks for longer than any limit.
sim::PlayerLimits no_limits(sim::PlayerLimits limits) {
  constexpr double day_s = 86'400;
  limits.idle_s = limits.case_s = limits.cpu_s = day_s;
  limits.memory_bytes = 0;
  return limits;
}

extern "C" void leave_it_to_gdb(int) {}

// To the judge, gdb is the rank's process. It stays when the part calls exit.
bool left_gdb(const Report& report, int rank) {
  return report.verdict == Verdict::rank_exited &&
         report.message.find(text("rank ", rank, " called exit(")) != std::string::npos;
}

}  // namespace

Exit debug_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(debug_options(), words);
  if (arguments.asks_help()) return print_help(debug_options());
  const Exercise& exercise = one_exercise(lab, arguments);
  if (exercise.kind == Kind::quiz) throw UsageError(exercise.handle() + " has questions, not code");
  if (!fs::exists("/usr/bin/gdb")) {
    std::cerr << "lab: gdb is not installed: apt-get install gdb\n";
    return Exit::machine;
  }
  make_ready(lab, {&exercise}, PlayerKind::debugged);
  JudgeOptions options;
  choose_case(arguments, last_replay(lab, exercise), options);
  options.limits = no_limits(lab.limits);
  const int rank = static_cast<int>(arguments.integer("rank", 0));
  options.debugged = sim::DebuggedPlayer{rank, gdb_line(exercise, arguments.rest())};
  const fs::path folder = arguments.get("from");
  const fs::path source =
      (folder.is_relative() ? lab.places.root / folder : folder) / exercise.file();
  if (!fs::is_regular_file(source)) {
    throw UsageError("there is no " + lab.places.shown(source) + " to debug");
  }
  std::cout << exercise.address() << "  case " << text_of(*options.only_case) << " of seed "
            << options.seed << ", rank " << rank
            << " in gdb: next, step, print, backtrace, continue, quit" << std::endl;
  // Ctrl-C is for the rank in gdb. A handler, since a signal that is ignored stays so in gdb.
  std::signal(SIGINT, leave_it_to_gdb);
  const Report report = grade_file(lab, exercise, source, options, PlayerKind::debugged).report;
  std::signal(SIGINT, SIG_DFL);
  if (left_gdb(report, rank)) {
    std::cout << "gdb ended before the case did, so there is no verdict\n";
    return Exit::passed;
  }
  std::cout << exercise.address() << "  " << name_of(report.verdict)
            << (report.message.empty() ? "" : ": " + report.message) << "\n";
  if (report.verdict == Verdict::infrastructure) return Exit::lab_failed;
  return report.verdict == Verdict::pass ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
