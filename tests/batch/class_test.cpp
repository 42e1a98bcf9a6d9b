// A class through lab-tool, as an instructor grades it.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

const fs::path root = LOCKSTEP_ROOT;
const std::string one_rank = "scale_learning_rate", several_ranks = "average_gradients";

// Seven students, each with a fate of their own, and one who handed in nothing.
struct Class {
  explicit Class(std::string exercise = one_rank) : name(std::move(exercise)) {
    student("right", right);
    student("copy_of_right", right);
    student("stub", read_text(root / "exercises" / part));
    student("crash", right + "\n#include <cstdlib>\nstatic int out = (std::abort(), 0);\n");
    student("no_compile", right + "\nint broken = ;\n");
    student("hostile", right + "\n#include <cstdlib>\nstatic int out = (std::_Exit(0), 0);\n");
    student("hang", right + "\n#include <unistd.h>\nstatic int stay = ::sleep(1000);\n");
    fs::create_directories(submissions() / "nothing");
    write_text(scratch.path() / "seed", "a seed for tests that is no secret\n");
    fs::permissions(scratch.path() / "seed", fs::perms(0600));
  }
  fs::path submissions() const { return scratch.path() / "submissions"; }
  fs::path out(const std::string& folder) const { return scratch.path() / folder; }
  void student(const std::string& who, const std::string& content) const {
    write_text(submissions() / who / part, content);
  }
  std::vector<std::string> command(const std::string& folder,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> words{LOCKSTEP_TOOL,
                                   "grade",
                                   submissions().string(),
                                   "--out",
                                   out(folder).string(),
                                   "--exercises",
                                   name,
                                   "--seed-file",
                                   (scratch.path() / "seed").string(),
                                   "--limits",
                                   "idle=1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  CommandResult grade(const std::string& folder, const std::vector<std::string>& more = {}) const {
    return run_command(command(folder, more), scratch.path(), lockstep::test::patient);
  }
  std::string grades(const std::string& folder) const {
    std::vector<fs::path> files{out(folder) / "grades.json", out(folder) / "grades.csv",
                                out(folder) / "totals.csv"};
    for (const auto& student : fs::directory_iterator(out(folder) / "students")) {
      files.push_back(student.path());
    }
    std::sort(files.begin(), files.end());
    std::string all;
    for (const fs::path& file : files) {
      all += file.lexically_relative(out(folder)).string() + ":\n" + read_text(file);
    }
    return all;
  }
  std::string name;
  std::string part = "05_data_parallel/" + name + ".cpp";
  std::string right = read_text(root / "solutions" / part);
  test::Scratch scratch;
};

// Where there is no sandbox nothing is graded, which is right and is no success of these tests.
bool refused_for_want_of_a_sandbox(const CommandResult& result) {
  if (result.exit_code != 3) return false;
  std::cout << "NO SANDBOX HERE: " << result.output << "\n";
  return true;
}

// The processes of a grader that was killed hold its journal until they, too, have ended.
void wait_for_lock(const fs::path& journal) {
  const int file = ::open(journal.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(file >= 0);
  int look = 0;
  for (; look < 60'000 && ::flock(file, LOCK_EX | LOCK_NB) != 0; ++look) ::usleep(1000);
  ::close(file);
  REQUIRE(look < 60'000);
}

}  // namespace

TEST_CASE("grade: each of a class gets the row that is due, whatever the others do") {
  const Class a_class;
  const CommandResult result = a_class.grade("out", {"--jobs", "2"});
  if (refused_for_want_of_a_sandbox(result)) return;
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(
      read_text(a_class.out("out") / "grades.csv") ==
      "student,exercise,verdict,points,max_points,cause,reason,judged_points,note,comment\n"
      "copy_of_right,05_data_parallel/scale_learning_rate,pass,10,10,,,10,,\n"
      "crash,05_data_parallel/scale_learning_rate,crash,0,10,crash,,0,,\n"
      "hang,05_data_parallel/scale_learning_rate,time,0,10,asleep,,0,,\n"
      "hostile,05_data_parallel/scale_learning_rate,rank exited,0,10,exited,,0,,\n"
      "no_compile,05_data_parallel/scale_learning_rate,compile error,0,10,syntax,,0,,\n"
      "nothing,05_data_parallel/scale_learning_rate,missing,0,10,empty,"
      "\"the hand-in holds no file, apart from .names and __MACOSX: ./lab submit packs one\",0,,\n"
      "right,05_data_parallel/scale_learning_rate,pass,10,10,,,10,,\n"
      "stub,05_data_parallel/scale_learning_rate,unsolved,0,10,stub,,0,,\n");

  CHECK_THAT(result.output,
             test::contains("1 student handed in an empty folder or archive: nothing"));
  CHECK(fs::status(a_class.out("out") / "students").permissions() == fs::perms::owner_all);

  // Again, one at a time, gives the same bytes.
  const std::string grades = a_class.grades("out");
  REQUIRE(a_class.grade("again", {"--jobs", "1"}).exit_code == 0);
  CHECK(a_class.grades("again") == grades);

  // A second run into the same folder is refused unless it resumes.
  CHECK(a_class.grade("out").exit_code == 2);
  CHECK(a_class.grades("out") == grades);
  const CommandResult resumed = a_class.grade("out", {"--resume"});
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.output, test::contains("; 0 different files judged now"));
  CHECK(a_class.grades("out") == grades);

  // A seed that others can read is no secret.
  fs::permissions(a_class.scratch.path() / "seed", fs::perms(0644));
  const CommandResult refused = a_class.grade("other");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, test::contains("chmod 600"));
}

TEST_CASE("grade: killed at any moment and resumed, it ends with the same bytes") {
  const Class a_class(several_ranks);
  const std::string begin = "// >>> your code\n";
  for (const auto& [who, what] :
       {std::pair("throw_together", "if (group.size() > 1) throw 3;"),
        std::pair("loop_together", "for (volatile int i = 0; group.size() > 2; i = 0) continue;"),
        std::pair("print_together", "while (group.size() > 2) std::puts(\"again and again\");"),
        std::pair("one_loops", "for (volatile int i = 0; group.rank() == 1; i = 0) continue;"),
        std::pair("one_throws",
                  "if (group.rank() == 1) throw 3;\n"
                  "for (volatile int i = 0; group.rank() == 0; i = 0) continue;")}) {
    std::string broken = "#include <cstdio>\n" + a_class.right;
    broken.insert(broken.find(begin) + begin.size(), what);
    a_class.student(who, broken);
  }
  const CommandResult whole = a_class.grade("whole", {"--jobs", "2"});
  if (refused_for_want_of_a_sandbox(whole)) return;
  REQUIRE(whole.exit_code == 0);

  std::vector<fs::path> folders;  // of those that were killed
  const fs::path journal = a_class.out("killed") / "journal.jsonl";
  const auto lines_before_kill = [&](std::size_t lines) {
    const auto words = a_class.command("killed", {"--jobs", "2", "--resume"});
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t grader = 0;
    REQUIRE(::posix_spawn(&grader, argv[0], nullptr, nullptr, argv.data(), environ) == 0);
    for (;;) {  // until the journal is long enough, or all is done
      if (::waitpid(grader, nullptr, WNOHANG) == grader) return;
      const std::string content = fs::exists(journal) ? read_text(journal) : "";
      if (static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n')) >= lines)
        break;
      ::usleep(1000);
    }
    ::kill(grader, SIGKILL);
    ::waitpid(grader, nullptr, 0);
    wait_for_lock(journal);
    const fs::path note = a_class.out("killed") / "scratch";
    if (fs::exists(note)) folders.emplace_back(read_text(note));
  };
  lines_before_kill(4);
  lines_before_kill(9);
  const CommandResult resumed = a_class.grade("killed", {"--resume"});
  INFO(resumed.output);
  REQUIRE(resumed.exit_code == 0);
  CHECK(a_class.grades("killed") == a_class.grades("whole"));
  CHECK_FALSE(folders.empty());
  for (const fs::path& folder : folders) CHECK_FALSE(fs::exists(folder));
}

// Only hand-ins of which nothing is judged, and a list of who should have handed in.
struct Careless {
  Careless() {
    write_text(submissions() / "hw-amy" / "essay.txt", "x");
    write_text(submissions() / "hw-zed" / "scale_learning_rate.cpp", "x");
    write_text(submissions() / ".hidden" / "x", "x");
    list("\xef\xbb\xbfstudent;name\r\namy;Amy A.\r\nbob;Bob\r\n");
  }
  fs::path submissions() const { return scratch.path() / "submissions"; }
  fs::path out() const { return scratch.path() / "out"; }
  fs::path roster() const { return scratch.path() / "roster.csv"; }
  void list(const std::string& lines) const { write_text(roster(), lines); }
  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> words{LOCKSTEP_TOOL, "grade",       submissions().string(), "--out",
                                   out(),         "--exercises", "scale_learning_rate"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  CommandResult grade(const std::vector<std::string>& more) const {
    return run_command(command(more), scratch.path(), lockstep::test::patient);
  }
  std::string totals() const { return read_text(out() / "totals.csv"); }
  test::Scratch scratch;
};

TEST_CASE("grade: the roster and how hand-ins are named are part of a run") {
  const Careless a_class;
  const CommandResult first =
      a_class.grade({"--roster", a_class.roster(), "--student-from", "^hw-(.+)$"});
  if (refused_for_want_of_a_sandbox(first)) return;
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  for (const char* line :
       {"1 student handed in nothing: bob\n",
        "2 students handed in nothing that counts: amy (its file",
        "did you mean scale_learning_rate.cpp? It belongs in 05_data_parallel/",
        "name the same?): zed\n", "ignored, because the name begins with a dot: .hidden\n"}) {
    CHECK_THAT(first.output, test::contains(line));
  }
  const std::string totals = a_class.totals();
  CHECK_THAT(totals, test::contains("student,points,max_points,graded,reason,name\namy,0,10,yes,"));
  CHECK_THAT(totals, test::contains(",Amy A.\nbob,0,10,yes,nothing was handed in,Bob\nzed,"));

  REQUIRE(a_class.grade({"--resume"}).exit_code == 0);
  CHECK(a_class.totals() == totals);

  a_class.list("student,name\namy,Amy A.\nbob,Bob\nzed,Zed\ncid,Cid\n");
  REQUIRE(a_class.grade({"--resume", "--roster", a_class.roster()}).exit_code == 0);
  CHECK_THAT(a_class.totals(), test::contains("\ncid,0,10,yes,nothing was handed in,Cid\nzed,"));
  const std::string corrected = a_class.totals();
  REQUIRE(a_class.grade({"--resume"}).exit_code == 0);
  CHECK(a_class.totals() == corrected);
}

namespace {

// A grader in the background, with what it says in a file.
struct Started {
  Started(std::vector<std::string> words, fs::path said_in) : said(std::move(said_in)) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    for (const int to : {1, 2}) {
      ::posix_spawn_file_actions_addopen(&files, to, said.c_str(), O_CREAT | O_APPEND | O_WRONLY,
                                         0600);
    }
    REQUIRE(::posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&files);
  }
  bool is_over() {
    int status = 0;
    if (!exit_code && ::waitpid(pid, &status, WNOHANG) == pid) {
      exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    }
    return exit_code.has_value();
  }
  void end() {
    if (is_over()) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    exit_code = 128;
  }
  pid_t pid = 0;
  fs::path said;
  std::optional<int> exit_code;
};

}  // namespace

TEST_CASE("grade: of two graders that start at once, one works and the other says so") {
  const Careless a_class;
  for (int start = 0; start < 20; ++start) {
    INFO("start " << start);
    Started one(a_class.command({}), a_class.scratch.path() / "one");
    Started other(a_class.command({}), a_class.scratch.path() / "other");
    while (!one.is_over() && !other.is_over()) ::usleep(1000);
    Started& first = one.is_over() ? one : other;
    Started& second = one.is_over() ? other : one;
    // On a busy machine one may be done before the other begins, or before that one's end is seen.
    const bool is_done = first.exit_code == 0;
    while (is_done && !second.is_over()) ::usleep(1000);
    Started& loser = is_done ? second : first;
    Started& winner = is_done ? first : second;
    const std::string said = read_text(loser.said);
    const fs::path note = a_class.out() / "scratch";
    while (!winner.is_over() && !fs::exists(note)) ::usleep(1000);
    winner.end();
    std::error_code gone;  // the grader's guard removes it too
    if (fs::exists(note)) fs::remove_all(read_text(note), gone);
    fs::remove_all(a_class.out());
    if (loser.exit_code == 3) {
      std::cout << "NO SANDBOX HERE: " << said << "\n";
      return;
    }
    INFO(said);
    CHECK(loser.exit_code == 2);
    const auto at_work =
        test::contains("another ./lab grade is at work on " + a_class.out().string());
    if (is_done) {
      CHECK_THAT(said, at_work || test::contains("continue with --resume"));
    } else {
      CHECK_THAT(said, at_work);
    }
    fs::remove(loser.said);
    fs::remove(winner.said);
  }
}

namespace {

// The words behind two dashes: of `./lab grade --help` at the beginning of a line, of a page in the
// first cell of a table's row.
std::set<std::string> options_in(const std::string& text, const std::string& line_begins) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(line_begins)) continue;
    const std::string cell =
        line_begins.starts_with("|") ? line.substr(0, line.find('|', 1)) : line;
    for (std::size_t at = 0; (at = cell.find("--", at)) != std::string::npos;) {
      const std::size_t end = cell.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 2);
      names.insert(cell.substr(at, end - at));
      at = line_begins.starts_with("|") ? end : cell.size();
    }
  }
  return names;
}

}  // namespace

TEST_CASE("grade, pack: --help and its table in docs/grading.md have the same options") {
  const std::string page = read_text(root / "docs/grading.md");
  const auto check = [&](const char* command, const std::string& heading, std::size_t least) {
    INFO(command);
    const CommandResult help = run_command({LOCKSTEP_TOOL, command, "--help"}, "/", {});
    REQUIRE(help.exit_code == 0);
    const auto in_help = options_in(help.output, "  --");
    CHECK(in_help.size() >= least);
    const std::size_t begin = page.find(heading + " | does |\n");
    REQUIRE(begin != std::string::npos);
    CHECK(in_help == options_in(page.substr(begin, page.find("\n\n", begin) - begin), "| `--"));
  };
  check("grade", "\n| option", 16);
  check("pack", "\n| option of `./lab pack`", 6);
}

TEST_CASE("grade: what cannot be graded is said in one sentence, with exit code 2") {
  const Class a_class;
  const auto says = [&](std::vector<std::string> words, const std::string& part_of_it) {
    words.insert(words.begin(), {LOCKSTEP_TOOL, "grade"});
    const CommandResult result = run_command(words, a_class.scratch.path(), {});
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, test::contains(part_of_it));
  };
  const std::string submissions = a_class.submissions();
  const std::string out = a_class.out("out");
  says({}, "one folder of submissions");
  says({submissions}, "--out DIR");
  write_text(a_class.out("roster.csv"), "student\n\"amy\n");
  says({submissions, "--out", out, "--roster", a_class.out("roster.csv")}, "line 2: a quote");
  says({submissions, "--out", out, "--student-column", "id"}, "--roster");
  says({submissions, "--out", out, "--student-from", "canvass"}, "canvas-id");
  says({"nowhere", "--out", out}, "there is no folder nowhere");
  says({submissions, "--out", out, "--exercises", "ring_al_reduce"}, "ring_all_reduce");
  says({submissions, "--out", out, "--format", "jsn"}, "did you mean json?");
  says({submissions, "--out", out, "--regrade", "amy"}, "there are no grades in");
  says({submissions, "--out", out, "--regrade", "a", "--students", "b"}, "both say whom to judge");
  says({submissions, "--out", out, "--students", "rihgt"}, "did you mean right?");
  says({submissions, "--out", out, "--late-from", "mtime"}, "--late FILE");
  says({submissions, "--out", out, "--late", "nowhere.toml"}, "there is no file nowhere.toml");
  says({submissions, "--out", out, "--overrides", "o.csv"}, "there is no file o.csv");
  says({submissions, "--out", out, "--limits", "idle=soon"}, "idle=soon");
  says({submissions, "--out", out, "--limits", "sleep=3"}, "the limits are idle");
  says({submissions, "--out", out, "--limits", "idle"}, "idle: write a limit with its number");
}
