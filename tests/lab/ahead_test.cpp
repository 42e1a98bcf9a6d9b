// What is built in the background: in which order, by one builder, and how it makes way.
#include "grader/lab/ahead.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/text.hpp"
#include "tests/catch.hpp"
#include "tests/lab/shell.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains, lockstep::test::Root, lockstep::test::Tree;
namespace fs = std::filesystem;

namespace {

Lab lab_in(const Tree& tree) {
  Lab lab;
  lab.places = {tree.root(), tree.root() / "build/release"};
  lab.course = read_course(tree.root() / "exercises/course.toml");
  lab.builds = lab.ahead = true;
  return lab;
}

std::vector<std::string> names_ahead(const Lab& lab) {
  std::vector<std::string> names;
  for (const AheadTarget& target : targets_ahead(lab, read_progress(lab.places.progress()))) {
    names.push_back(target.name);
  }
  return names;
}

// A file that is locked while the object lives; waits for it.
class Lock {
 public:
  Lock(const fs::path& file, int how) : file_(::open(file.c_str(), O_RDWR | O_CREAT, 0644)) {
    REQUIRE(::flock(file_, how) == 0);
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

// A builder whose ninja never ends by itself, and says what it is asked and when it is ended.
class Background {
 public:
  Background() : lab_(lab_in(tree_)) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that its end can be waited for
    fs::create_directories(lab_.places.build);
    REQUIRE(::mkfifo(said().c_str(), 0644) == 0);
    line_ = ::open(said().c_str(), O_RDWR);
    const fs::path ninja = tree_.root() / "tools/ninja";
    write_text(ninja, text("#!/bin/sh\nsleep 100 &\ntrap 'kill $!; echo ended >", said().string(),
                           "; exit 1' TERM\necho '[1/4] Building'\necho \"$*\" >", said().string(),
                           "\nwait\n"));
    fs::permissions(ninja, fs::perms::owner_all);
  }
  ~Background() {
    ::close(line_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  const Lab& lab() const { return lab_; }
  fs::path building_lock() const { return lab_.places.build / "building.lock"; }
  fs::path builders_lock() const { return lab_.places.build / "ahead"; }

  void start() const {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("PATH", ((tree_.root() / "tools").string() + ":/usr/bin:/bin").c_str(), 1);
      build_ahead(lab_);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  // The next line that the ninja says.
  std::string heard() const {
    std::string words;
    pollfd wait{line_, POLLIN, 0};
    for (char c = 0; c != '\n'; words += c) {
      REQUIRE(::poll(&wait, 1, 60'000) == 1);
      REQUIRE(::read(line_, &c, 1) == 1);
    }
    return words;
  }
  bool is_silent() const {
    pollfd wait{line_, POLLIN, 0};
    return ::poll(&wait, 1, 0) == 0;
  }
  pid_t builder() const {
    pid_t process = 0;
    std::ifstream(builders_lock()) >> process;
    return process;
  }
  // What ./lab says once the builder has read its ninja's first line.
  std::string step_told() const {
    for (int looks = 0; looks < 12'000; ++looks) {
      const auto told = built_ahead_now(lab_);
      if (told && !told->starts_with("lesson 00")) return *told;
      ::poll(nullptr, 0, 5);
    }
    return "nothing";
  }
  // Waits until the builder's process has ended.
  static void wait_for_end() {
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }

 private:
  fs::path said() const { return tree_.root() / "said"; }

  Tree tree_;
  Lab lab_;
  int line_ = -1;
};

}  // namespace

TEST_CASE("build ahead: what the exercise at hand needs comes first, and two lessons are enough") {
  const Tree tree;
  const Lab lab = lab_in(tree);
  copy_missing_stubs(lab.places, lab.course);
  const auto names = names_ahead(lab);
  REQUIRE(names.size() > 3);
  CHECK(names.at(0) == "judge-00");
  CHECK(names.at(1) == "player-average_gradients");
  CHECK(std::ranges::count(names, "lab-further") == 1);
  CHECK(std::ranges::count_if(
            names, [](const std::string& name) { return name.starts_with("judge-"); }) == 2);

  write_text(lab.places.work(exercise_named(lab.course, "quantize_int8")), "begun");
  CHECK(names_ahead(lab).at(0) == "judge-10");
  CHECK(names_ahead(lab).at(1) == "player-quantize_int8");
  const Exercise& other = exercise_named(lab.course, "run_stage");
  CHECK(targets_ahead(lab, {}, &other).at(1).name == "player-run_stage");
}

TEST_CASE("build ahead: the builder makes way for a build that is waited for, and goes on later") {
  const Background background;
  CHECK_FALSE(make_builder_give_way(background.lab()));
  background.start();
  const std::string asked = background.heard();
  CHECK_THAT(asked, contains(" -j1 judge-00\n"));
  background.start();  // there is one already
  CHECK(make_builder_give_way(background.lab()));
  CHECK(background.heard() == "ended\n");
  {
    const Lock waited_for(background.building_lock(), LOCK_EX);
    CHECK(background.is_silent());
  }
  CHECK(background.heard() == asked);
  CHECK(background.step_told() == "lesson 05, step 2 of 4");
  REQUIRE(background.builder() > 0);
  REQUIRE(::kill(background.builder(), SIGTERM) == 0);
  CHECK(background.heard() == "ended\n");
  Background::wait_for_end();
  CHECK(built_ahead_now(background.lab()) == std::nullopt);
  CHECK(background.is_silent());
}

TEST_CASE("build ahead: there is no builder while a command forbids it, or unless ./lab asks") {
  const Background background;
  {
    const Lock forbidden(background.builders_lock(), LOCK_SH);
    background.start();
    Background::wait_for_end();
    CHECK(background.is_silent());
  }
  Lab quiet = background.lab();
  quiet.ahead = false;
  build_ahead(quiet);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("lab: asks for building ahead unless a variable forbids it or this is CI") {
  const auto words = [](const std::string& variables) {
    return run_command({"sh", "-euc",
                        "unset CI LOCKSTEP_BACKGROUND; " + variables +
                            " building=--build; eval \"$(grep '^case ${LOCKSTEP_BACKGROUND' "
                            "lab)\"; echo \"$building\""},
                       LOCKSTEP_ROOT, lockstep::test::patient)
        .output;
  };
  CHECK(words("") == "--build --ahead\n");
  CHECK(words("CI=false;") == "--build --ahead\n");
  CHECK(words("CI=true;") == "--build\n");
  CHECK(words("LOCKSTEP_BACKGROUND=0;") == "--build\n");
  CHECK(words("LOCKSTEP_BACKGROUND=0; CI=true;") == "--build\n");
  CHECK_THAT(read_text(LOCKSTEP_ROOT "/setup/edition.sh"), contains("\nbuilding=\n"));
}

TEST_CASE("lab: a build of the shell asks the builder to make way, and tests end it") {
  const Root root;
  root.program(
      "builder",
      "exec 7>>build/release/ahead 9>build/release/building.lock\nflock 7\nflock 9\n"
      "echo \"$$ 07 1 4\" >build/release/ahead\n"
      "trap 'echo makes way >>told; exec 9>&-' USR1\n"
      "trap 'echo ends >>told; kill $sleeps; exit' TERM\n"
      ": >began\nwhile :; do sleep 100 7>&- 9>&- >/dev/null & sleeps=$!; wait; kill $sleeps; "
      "done");
  const std::string begin = "builder 2>told.errors &\nwhile [ ! -e began ]; do sleep 0.01; done\n";
  const auto built = root.run(begin + "build all\nend_builder\nwait\ncat told");
  CHECK(built.output == "makes way\nends\n");
  root.run("rm began told");
  const auto tested = root.run(begin + "nothing_ahead\nwait\ncat told\nsh -c 'flock -n " +
                               (root.folder() / "ahead").string() + " true || echo forbidden'");
  CHECK(tested.output == "ends\nforbidden\n");
}

TEST_CASE("lab: a build that makes way stops its ninja for another one, and goes on afterwards") {
  const Root root;
  // The first ninja of `train` ends when it is told to, the next one by itself.
  root.program("ninja",
               "[ \"$3\" = train ] && [ ! -e begun ] || { echo \"$3\" >>told; exit; }\n"
               "sleep 100 >/dev/null &\n"
               "trap 'kill $!; echo stopped >>told; exit 130' TERM\n: >begun\nwait");
  const std::string begin =
      "build --makes-way train &\nwhile [ ! -e begun ]; do sleep 0.01; done\n";
  const auto checked = root.run(begin + "build judge\nwait $!\ncat told");
  CHECK(checked.output ==
        "another command goes first; this build goes on afterwards\n"
        "stopped\njudge\ntrain\n");
  root.run("rm begun told");
  const auto tested = root.run(begin + "(nothing_ahead; build tests)\nwait $!\ncat told");
  CHECK_THAT(tested.output, contains("stopped\ntests\ntrain\n"));
}

TEST_CASE("lab check: an untouched file is told at once, before its judge is built") {
  const Tree tree;
  tree.lab({"begin"});
  write_text(tree.root() / "tools/ninja", "#!/bin/sh\necho called >&2\nexit 1\n");
  fs::permissions(tree.root() / "tools/ninja", fs::perms::owner_all);
  const auto check = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"env", "PATH=" + (tree.root() / "tools").string() + ":/usr/bin:/bin",
                  LOCKSTEP_TOOL, "--root", tree.root().string(), "--build", "check"});
    return run_command(words, tree.root(), lockstep::test::patient);
  };
  const auto at_once = check({"run_stage"});
  CHECK(at_once.exit_code == 1);
  CHECK(at_once.output == tree.lab({"check", "run_stage"}).output);
  CHECK_THAT(at_once.output,
             contains("unsolved  0/") && contains("open work/13_pipeline_parallel"));
  const auto document = nlohmann::json::parse(check({"run_stage", "--json"}).output);
  CHECK(document.at("cause") == "stub");
  CHECK(document.at("checks").at(0).at("verdict") == "unsolved");

  tree.solve("13_pipeline_parallel/run_stage.cpp");
  const auto built = check({"run_stage"});
  CHECK(built.exit_code == 4);
  CHECK_THAT(built.output, contains("called"));
}
