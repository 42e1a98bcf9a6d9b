#include "grader/lab/shown_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <iostream>
#include <set>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/lesson_text.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/terminal.hpp"

namespace lockstep::grader {
namespace {

constexpr double shown_deadline_s = 300;

// The names that follow `prefix` in a command.
std::set<std::string> names_after(const std::string& command, const std::string& prefix) {
  std::set<std::string> names;
  for (auto at = command.find(prefix); at != std::string::npos; at = command.find(prefix, at)) {
    at += prefix.size();
    const auto end =
        std::find_if(command.begin() + static_cast<std::ptrdiff_t>(at), command.end(),
                     [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; });
    const std::string name(command.begin() + static_cast<std::ptrdiff_t>(at), end);
    if (!name.empty()) names.insert(name);
  }
  return names;
}

// The programs that a lesson's command starts; those that judge parts see to it themselves.
std::set<std::string> targets_of(const std::string& command) {
  std::set<std::string> targets;
  for (const std::string& name : names_after(command, "./lab ")) {
    if (name == "run") targets.insert("lockstep-run");
    if (name == "train" || name == "generate" || name == "sim") targets.insert(name);
  }
  targets.merge(names_after(command, "build/release/bin/"));
  return targets;
}

// Lines as they come; on a terminal the seconds while none does.
class LiveOutput {
 public:
  LiveOutput(Shown shown, Paint paint) : shown_(shown == Shown::as_it_comes), paint_(paint) {}
  void line(const std::string& words) {
    clear();
    if (shown_) std::cout << "  " << words << std::endl;
  }
  void wait(double seconds) {
    if (!shown_ || ::isatty(STDOUT_FILENO) != 1) return;
    std::cout << "\r  " << faint(paint_, text("… ", static_cast<int>(seconds), " s")) << std::flush;
    waiting_ = true;
  }
  void clear() {
    if (waiting_) std::cout << "\r\x1b[K" << std::flush;
    waiting_ = false;
  }

 private:
  bool shown_, waiting_ = false;
  Paint paint_;
};

}  // namespace

ShownRun run_shown(const Lab& lab, const std::string& command, Shown shown) {
  make_targets_ready(lab, targets_of(command));
  const std::string run =
      lab.builds || lab.packed ? command : command_as_built(command, lab.places.build.string());
  LiveOutput live(shown, lab.paint);
  CommandResult ran;
  int heard = 0;
  {
    Signals signals({SIGINT, SIGTERM, SIGHUP});
    CommandLimits limits;
    limits.deadline_s = shown_deadline_s;
    limits.work_s = 2 * shown_deadline_s;
    limits.stop = signals.fd();
    ran = run_command(
        {"sh", "-c", run}, lab.places.root, limits,
        [&](const std::string& line) { live.line(line); }, [&](double s) { live.wait(s); });
    heard = signals.next();
  }
  live.clear();
  if (heard != 0) {
    std::cout << "\nnot finished; nothing is recorded\n" << std::flush;
    ::raise(heard);
  }
  if (ran.timed_out) {
    throw Error(text("the lesson's run did not end within ", shown_deadline_s, " s"));
  }
  if (ran.exit_code != 0) {
    throw Error(text("the lesson's run failed with exit code ", ran.exit_code,
                     shown == Shown::as_it_comes ? std::string() : ":\n" + ran.output));
  }
  return {ran.output, ran.seconds};
}

}  // namespace lockstep::grader
