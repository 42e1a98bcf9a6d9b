#include "grader/lab/ready.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <sstream>
#include <thread>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/compile/recipe.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/ahead.hpp"
#include "grader/lab/build_progress.hpp"

namespace lockstep::grader {
namespace {

constexpr double deadline_s = 3600;  // of a build on the slowest of machines
constexpr std::size_t lines_shown = 30;

// "[12/80] Building …"
bool is_step(const std::string& line) {
  return line.starts_with("[") && line.find("] ") != std::string::npos;
}

// One build at a time in a folder, also beside those of ./lab (setup/build.sh).
class BuildLock {
 public:
  explicit BuildLock(const Lab& lab)
      : file_(::open((lab.places.build / "building.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC,
                     0644)) {
    if (file_ < 0 || taken() || makes_way(lab)) return;
    std::cerr << "another build is running in " << lab.places.shown(lab.places.build)
              << "; this one starts when it ends\n";
    while (::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~BuildLock() {
    if (file_ >= 0) ::close(file_);
  }
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;

 private:
  bool taken() const { return ::flock(file_, LOCK_EX | LOCK_NB) == 0; }

  // True if it was the builder in the background that had the lock, which is free then.
  bool makes_way(const Lab& lab) const {
    constexpr auto look_again = std::chrono::milliseconds(5);
    constexpr int looks = 1000;
    if (!make_builder_give_way(lab)) return false;
    for (int i = 0; i < looks; ++i) {
      if (taken()) return true;
      std::this_thread::sleep_for(look_again);
    }
    return false;
  }

  int file_;
};

std::string last_words(const std::string& output) {
  std::vector<std::string> lines;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (!is_step(line)) lines.push_back(line);
  }
  std::string words;
  for (std::size_t i = lines.size() - std::min(lines.size(), lines_shown); i < lines.size(); ++i) {
    words += "\n" + lines[i];
  }
  return words;
}

// The contracts of a part's lesson, once: what comes of it is large, and this compiler's alone.
void precompile_contracts(const Lab& lab, const Exercise& exercise) {
  const Recipe recipe = read_recipe(lab.places.recipe(exercise));
  const std::filesystem::path header = recipe.pch.string() + ".gch";
  if (recipe.pch.empty() || std::filesystem::exists(header)) return;
  const BuildLock lock(lab);
  if (std::filesystem::exists(header)) return;
  std::cerr << "reading the contracts of lesson " << exercise.reading.substr(0, 2)
            << " for the first time…\n";
  // Under another name first: half of one would be taken for whole.
  const std::string unfinished = header.string() + ".unfinished";
  std::vector<std::string> words{recipe.compiler};
  words.insert(words.end(), recipe.compile_flags.begin(), recipe.compile_flags.end());
  words.insert(words.end(), {"-x", "c++-header", recipe.pch.string(), "-o", unfinished});
  const CommandResult compiled = run_command(words, lab.places.root, {.deadline_s = deadline_s});
  if (compiled.exit_code != 0) {
    throw Error("the compiler cannot read the contracts:" + last_words(compiled.output));
  }
  std::filesystem::rename(unfinished, header);
}

}  // namespace

void make_targets_ready(const Lab& lab, const std::set<std::string>& targets) {
  if (!lab.builds || targets.empty()) return;
  std::vector<std::string> words{"env", BuildProgress::ninja_status, "ninja", "-C",
                                 lab.places.build.string()};
  words.insert(words.end(), targets.begin(), targets.end());
  const BuildLock lock(lab);
  const CommandLimits limits{.deadline_s = deadline_s, .output_bytes = 4 << 20};
  // A look at what is to be done takes as long as a build that has nothing to do.
  std::vector<std::string> look = words;
  look.push_back("-n");
  const CommandResult plan = run_command(look, lab.places.root, limits);
  if (plan.exit_code == 0 && plan.output.find("no work to do") != std::string::npos) return;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  using Shown = BuildProgress::Shown;
  BuildProgress progress(terminal ? Shown::on_a_terminal : Shown::in_a_log, plan.output);
  const CommandResult ninja = run_command(
      words, lab.places.root, limits,
      [&](const std::string& line) { std::cerr << progress.heard(line) << std::flush; },
      [&](double seconds) { std::cerr << progress.waited(seconds) << std::flush; });
  std::cerr << progress.ended() << std::flush;
  if (ninja.exit_code == 0) return;
  const auto log = lab.places.build / "build.log";
  write_text(log, ninja.output);
  throw Error(text("building ", *targets.begin(), " failed; the whole log is in ",
                   lab.places.shown(log), last_words(ninja.output)));
}

void make_ready(const Lab& lab, const std::vector<const Exercise*>& exercises, PlayerKind kind) {
  if (lab.packed) {
    for (const Exercise* exercise : exercises) {
      if (exercise->kind == Kind::code) precompile_contracts(lab, *exercise);
    }
    return;
  }
  std::set<std::string> targets;
  for (const Exercise* exercise : exercises) {
    if (exercise->kind != Kind::code) continue;
    targets.insert("player-" + exercise->name);
    targets.insert(lab.places.judge(*exercise).filename().string());
  }
  if (targets.empty()) return;
  if (kind == PlayerKind::shared) targets.insert("player-shared");
  if (kind == PlayerKind::gpu || kind == PlayerKind::paper) targets.insert("player-gpu");
  if (kind == PlayerKind::sanitized) targets.insert("player-sanitized");
  make_targets_ready(lab, targets);
}

}  // namespace lockstep::grader
