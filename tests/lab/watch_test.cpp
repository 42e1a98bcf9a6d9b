// ./lab watch: saves of every kind become verdicts, keys do what they say, and the terminal is left
// as it was.
#include "grader/lab/watch.hpp"

#include <csignal>
#include <nlohmann/json.hpp>

#include "grader/lab/wrap.hpp"
#include "tests/catch.hpp"
#include "tests/lab/running.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;
using lockstep::test::Running;
using lockstep::test::Seen;
using lockstep::test::Tree;
namespace fs = std::filesystem;

namespace {

const std::string watched_file = "05_data_parallel/average_gradients.cpp";

struct Student : Tree {
  Student() { lab({"begin"}); }
  fs::path work() const { return root() / "work" / watched_file; }
  std::string solution() const { return read_text(root() / "solutions" / watched_file); }
  Running watch(std::vector<std::string> words, Seen seen) const {
    words.insert(words.begin(), {LOCKSTEP_TOOL, "--root", root().string(), "watch"});
    return Running(words, root(), seen);
  }
};

WatchPage page_of(int lines) {
  WatchPage page;
  for (int i = 0; i < lines; ++i) page.body += text("line ", i, "\n");
  page.notice = "notice";
  page.solved = 3;
  page.all = 12;
  return page;
}

}  // namespace

TEST_CASE(
    "watch: without a terminal each save is a verdict, and one that changes nothing is none") {
  const Student student;
  Running watch = student.watch({"average_gradients"}, Seen::through_a_pipe);
  CHECK_THAT(watch.wait_for(" judge "), contains("unsolved  0/10 points"));
  const auto save = [&](const std::string& content) {
    watch.send(SIGSTOP);  // it may not meet the file between the two steps of this, which is empty
    write_text(student.work(), content);
    watch.send(SIGCONT);
  };
  save("int x = nothing;\n");
  CHECK_THAT(watch.wait_for(" judge "), contains("compile error"));
  save("int x = nothing;\n");
  // An editor that writes beside and renames.
  write_text(student.work().string() + ".new", student.solution());
  fs::rename(student.work().string() + ".new", student.work());
  const std::string passed = watch.wait_for("in work/");
  CHECK_THAT(passed, contains("pass  10/10 points") && !contains("compile error"));
  CHECK_THAT(passed, contains("Next: ./lab watch model_memory"));
  watch.send(SIGTERM);
  CHECK(watch.exit_code() == 0);
  CHECK_THAT(student.lab({"list"}).output, contains("1 of "));
}

TEST_CASE("watch: a save while a check runs is judged instead") {
  const Student student;
  write_text(student.work(),
             "#include \"engine/parallel/data_parallel/average_gradients.hpp\"\n"
             "namespace lockstep::data_parallel {\n"
             "void average_gradients(comm::ProcessGroup&, std::span<Parameter* const>) {\n"
             "  for (volatile int i = 0;;) i = i;\n}\n}\n");
  Running watch = student.watch({"average_gradients", "--json"}, Seen::through_a_pipe);
  const auto hang = nlohmann::json::parse(watch.wait_for("\n"));
  CHECK(hang.at("verdict") == "time");
  CHECK_THAT(hang.at("message"), contains("rank "));
  write_text(student.work(), read_text(student.work()) + "// once more\n");
  write_text(student.work(), student.solution());
  CHECK(nlohmann::json::parse(watch.wait_for("\n")).at("verdict") == "pass");
}

TEST_CASE("watch: --once --json is one document with its times and the exit code of a check") {
  const Student student;
  const auto stub = student.lab({"watch", "average_gradients", "--once", "--json"});
  CHECK(stub.exit_code == 1);
  CHECK(nlohmann::json::parse(stub.output).at("verdict") == "unsolved");
  write_text(student.work(), student.solution());
  const auto solved = student.lab({"watch", "average_gradients", "--once", "--json"});
  CHECK(solved.exit_code == 0);
  const auto document = nlohmann::json::parse(solved.output);
  CHECK(document.at("file") == student.work().string());
  const auto& seconds = document.at("seconds");
  CHECK(seconds.at("edit_to_verdict") >= seconds.at("run"));
  CHECK(student.lab({"watch", "--once", "average_gradient"}).exit_code == 2);
}

TEST_CASE("watch: on a terminal the keys show hints and the list, go on, reset and quit") {
  const Student student;
  Running watch = student.watch({"average_gradients"}, Seen::on_a_terminal);
  watch.wait_for(", judge ");
  CHECK(!watch.echoes());
  watch.type("h");
  watch.wait_for("## Hint 1");
  watch.type("h");
  watch.wait_for("## Hint 2");
  watch.type("l");
  watch.wait_for("Data parallelism");
  watch.type("n");
  watch.wait_for("01_why_distribute/model_memory  unsolved");
  watch.wait_for(", judge ");
  write_text(student.root() / "work/01_why_distribute/model_memory.cpp", "mine\n");
  watch.wait_for("compile error");
  watch.type("x");
  watch.wait_for("y/n");
  watch.type("n");
  watch.wait_for("nothing changed");
  watch.type("xy");
  watch.wait_for("unsolved");
  CHECK(read_text(student.root() / "work/01_why_distribute/model_memory.cpp.bak") == "mine\n");
  watch.resize(12, 60);
  watch.wait_for(test::of_all(0) + " solved");
  watch.type("q");
  CHECK(watch.exit_code() == 1);
  CHECK(watch.echoes());
}

TEST_CASE("watch: Ctrl-C leaves the terminal as it was") {
  const Student student;
  Running watch = student.watch({"average_gradients"}, Seen::on_a_terminal);
  watch.wait_for("checking");
  watch.type("\x03");
  watch.exit_code();
  CHECK(watch.echoes());
}

TEST_CASE("watch: the screen has the keys below, and says how much of a page is not on it") {
  const std::string whole = frame_of(page_of(5), {24, 80}, Paint::plain);
  for (const char* part : {"line 4", "3 of 12 solved", "notice", "n next", "q quit", "x reset"}) {
    CHECK_THAT(whole, contains(part));
  }
  CHECK_THAT(whole, !contains("more lines"));
  const WatchPage long_page = page_of(40);
  const std::string top = frame_of(long_page, {24, 80}, Paint::plain);
  CHECK_THAT(top, contains("line 18") && !contains("line 19") && contains("21 more lines"));
  WatchPage scrolled = long_page;
  scrolled.first = 100;
  CHECK_THAT(frame_of(scrolled, {24, 80}, Paint::plain), contains("line 39"));
  for (std::size_t rows = 1; rows < 10; ++rows) {
    for (std::size_t columns = 1; columns < 40; columns += 3) {
      CHECK(!frame_of(long_page, {rows, columns}, Paint::plain).empty());
    }
  }
}

TEST_CASE("watch: the line of progress is never wider than the terminal") {
  for (const std::size_t columns : {20, 40, 80, 200}) {
    CHECK(columns_of(progress_line(5, 39, columns, Paint::colour)) <= columns);
  }
  CHECK_THAT(progress_line(4, 4, 80, Paint::plain), !contains("─"));
}

TEST_CASE("watch: the times are the whole, and what it was spent on") {
  const nlohmann::json seconds{{"compile", 0.25}, {"link", 0.04}, {"run", 0.05}};
  CHECK(times_text(0.342, seconds) == "0.34 s: compile 0.25, link 0.04, judge 0.05");
}
