// ./lab bench check: how long a student waits from a save to the verdict, exercise by exercise.
// Each reference is saved with another comment at its end while ./lab watch runs on it, in a tree
// of its own; what is measured is the time from the save until the verdict is printed.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/step_counter.hpp"
#include "engine/base/temporary_folder.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/further/commands.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/terminal.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

Options bench_check_options() {
  Options options("./lab bench check",
                  "Measures the time from a save to its verdict, for every exercise.");
  options.words("[NAME…|NN]", "exercises or lessons (default: all)")
      .option("repeats", "3", "saves per exercise; the median is reported")
      .flag("json", "print one JSON document instead of a table");
  return options;
}

// A root with a work/ of its own.
class BenchTree {
 public:
  explicit BenchTree(const Places& places) {
    for (const char* room : {"exercises", "solutions", "lessons"}) {
      fs::create_directory_symlink(places.root / room, root() / room);
    }
  }
  const fs::path& root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_{"bench"};
};

// A signal asked the bench to end; what() is "interrupted by SIGINT".
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ./lab watch NAME --json beside this program.
class WatchProcess {
 public:
  WatchProcess(const Lab& lab, const fs::path& root, const std::string& exercise, Signals& signals)
      : signals_(signals) {
    int ends[2];
    if (::pipe(ends) != 0) throw Error(text("cannot create a pipe for a watch: ", strerror(errno)));
    const fs::path program = lab.places.build / "bin" / "lab-tool";
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      signals.restore_in_child();
      ::setenv("TMPDIR", root.c_str(), 1);  // what a compiler that is ended leaves goes with it
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::execl(program.c_str(), program.c_str(), "--root", root.c_str(), "watch", exercise.c_str(),
              "--json", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    from_ = ends[0];
    if (child_ < 0) throw Error("cannot start a watch");
  }
  ~WatchProcess() { end(); }
  WatchProcess(const WatchProcess&) = delete;
  WatchProcess& operator=(const WatchProcess&) = delete;

  // Returns what it and everything it started used of the processors, in seconds.
  double end() {
    if (from_ < 0) return 0;
    ::kill(child_, SIGTERM);
    rusage used{};
    while (::wait4(child_, nullptr, 0, &used) < 0 && errno == EINTR) {
    }
    ::close(std::exchange(from_, -1));
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  }

  // Throws Interrupted.
  json next_verdict() {
    std::size_t end = 0;
    while ((end = read_.find('\n')) == std::string::npos) {
      pollfd entries[]{{signals_.fd(), POLLIN, 0}, {from_, POLLIN, 0}};
      ::poll(entries, 2, -1);
      while (const int signal = signals_.next()) {
        if (signal == SIGTSTP) ::raise(SIGSTOP);
        if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
          throw Interrupted(text("interrupted by SIG", ::sigabbrev_np(signal)));
        }
      }
      char part[4096];
      if (entries[1].revents == 0) continue;
      const ssize_t count = ::read(from_, part, sizeof part);
      if (count == 0) throw Error("the watch ended without a verdict");
      if (count > 0) read_.append(part, static_cast<std::size_t>(count));
    }
    const std::string line = read_.substr(0, end);
    read_.erase(0, end + 1);
    return json::parse(line);
  }

 private:
  Signals& signals_;
  pid_t child_ = -1;
  int from_ = -1;
  std::string read_;  // not yet a whole line
};

struct Wait {
  double total_s = 0, compile_s = 0, link_s = 0, judge_s = 0;
  double cpu_s = 0;  // of all processes, the mean over all saves: the same on a busy machine
};

Wait wait_for_verdict(WatchProcess& watch, const fs::path& file, const std::string& content) {
  const auto start = Clock::now();
  write_text(file, content);
  const json verdict = watch.next_verdict();
  Wait wait;
  wait.total_s = std::chrono::duration<double>(Clock::now() - start).count();
  if (verdict.at("verdict") != "pass") {
    throw Error(text("the verdict on the reference of ", verdict.at("exercise"), " is ",
                     verdict.at("verdict"), ": ", verdict.at("message")));
  }
  const json& seconds = verdict.at("seconds");
  wait.compile_s = seconds.at("compile");
  wait.link_s = seconds.at("link");
  wait.judge_s = seconds.at("run");
  return wait;
}

bool is_shorter(const Wait& a, const Wait& b) { return a.total_s < b.total_s; }

Wait median_of(std::vector<Wait> waits) {
  std::sort(waits.begin(), waits.end(), is_shorter);
  return waits[waits.size() / 2];
}

Wait measured(const Lab& lab, const BenchTree& tree, const Exercise& exercise, std::int64_t repeats,
              Signals& signals) {
  const fs::path file = tree.root() / "work" / exercise.file();
  const std::string reference = read_text(tree.root() / "solutions" / exercise.file());
  const std::string mark = exercise.kind == Kind::quiz ? "# " : "// ";
  const auto unique = Clock::now().time_since_epoch().count();  // no player is kept from before
  const auto saved = [&](std::int64_t i) { return text(reference, mark, unique, " ", i, "\n"); };
  write_text(file, saved(0));
  WatchProcess watch(lab, tree.root(), exercise.handle(), signals);
  watch.next_verdict();
  std::vector<Wait> waits;
  for (std::int64_t i = 1; i <= repeats; ++i) {
    waits.push_back(wait_for_verdict(watch, file, saved(i)));
  }
  Wait median = median_of(std::move(waits));
  median.cpu_s = watch.end() / static_cast<double>(repeats + 1);
  return median;
}

json json_of(const Wait& wait) {
  return {{"ours", wait.total_s}, {"unit", "s"},           {"compile", wait.compile_s},
          {"link", wait.link_s},  {"judge", wait.judge_s}, {"cpu", wait.cpu_s}};
}

std::string line_of(const std::string& name, const Wait& wait) {
  char out[128];
  std::snprintf(out, sizeof out, "%8.2f %8.2f %8.2f %8.2f %8.2f\n", wait.total_s, wait.compile_s,
                wait.link_s, wait.judge_s, wait.cpu_s);
  return padded(name, 32) + out;
}

}  // namespace

Exit bench_check_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(bench_check_options(), words);
  if (arguments.asks_help()) return print_help(bench_check_options());
  std::vector<const Exercise*> exercises;
  for (const std::string& word : arguments.words()) {
    for (const Exercise* exercise : exercises_named(lab.course, word)) {
      exercises.push_back(exercise);
    }
  }
  if (arguments.words().empty()) {
    for (const Exercise& exercise : lab.course.exercises) exercises.push_back(&exercise);
  }
  make_ready(lab, exercises);
  const std::int64_t repeats = arguments.integer("repeats", 1);
  const bool as_json = arguments.flag("json");
  Signals signals;
  const BenchTree tree(lab.places);
  StepCounter progress(exercises.size());
  if (!as_json) {
    std::cout << padded("from save to verdict, seconds", 32)
              << "   total  compile     link    judge      cpu\n"
              << std::flush;
  }
  json document{{"bench", "check"}, {"rows", json::array()}};
  std::vector<Wait> waits;
  try {
    for (const Exercise* exercise : exercises) {
      progress.begin(exercise->handle());
      try {
        waits.push_back(measured(lab, tree, *exercise, repeats, signals));
      } catch (const Error& error) {  // one that cannot be measured does not hide the others
        progress.clear();
        document["failed"].push_back(error.what());
        std::cerr << text("bench check: ", error.what(), "\n");
        continue;
      }
      progress.clear();
      if (!as_json) std::cout << line_of(exercise->handle(), waits.back()) << std::flush;
      document["rows"].push_back(json_of(waits.back()));
      document["rows"].back()["case"] = exercise->handle();
    }
  } catch (const Interrupted& signal) {
    progress.clear();
    document["partial"] = signal.what();
    std::cerr << text("bench check: ", signal.what(), " after ", waits.size(), " of ",
                      exercises.size(), " exercises\n");
  }
  const bool partial = document.contains("partial");
  if (!waits.empty()) {
    const Wait median = median_of(waits);
    const Wait worst = *std::max_element(waits.begin(), waits.end(), is_shorter);
    document["median"] = json_of(median);
    document["worst"] = json_of(worst);
    if (!as_json) {
      const std::string of = partial ? ", partial" : "";
      std::cout << line_of("median" + of, median) << line_of("worst" + of, worst);
    }
  }
  if (as_json) std::cout << document.dump(2) << "\n";
  return partial || document.contains("failed") ? Exit::failed : Exit::passed;
}

}  // namespace lockstep::grader
