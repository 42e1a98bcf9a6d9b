#include "grader/course/progress.hpp"

#include <thread>

#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

Judged judged(const std::string& verdict, std::int64_t at) {
  Judged judged;
  judged.content_hash = 0xFFFFFFFFFFFFFFFFu - static_cast<std::uint64_t>(at);
  judged.stub_hash = 7;
  judged.verdict = verdict;
  judged.points = verdict == "pass" ? 10 : 0;
  judged.judged_at = at;
  judged.cause = verdict == "pass" ? "" : "tail_lost";
  judged.message = verdict == "pass" ? "" : "a sentence\nof\ttwo lines";
  return judged;
}

const std::string judged_part = "06_x/part";

}  // namespace

TEST_CASE("progress: survives being written and read, and skips lines it cannot read") {
  const test::Scratch scratch;
  const fs::path file = scratch.path() / "work" / ".progress";
  CHECK(read_progress(file).empty());
  Progress progress;
  Standing& standing = progress[judged_part];
  standing.begun_from = 12;
  standing.begun_at = 3;
  standing.judged(judged("pass", 4));
  standing.judged(judged("wrong answer", 5));
  standing.hints = {{"1", 6}, {"for tail_lost", 7}};
  standing.revealed_at = 8;
  write_progress(file, progress);
  write_text(file, read_text(file) + "judged\thalf a line\t12\n\nhint\n");
  const Progress read = read_progress(file);
  REQUIRE(read.size() == 1);
  const Standing& seen = read.at(judged_part);
  REQUIRE(seen.last);
  REQUIRE(seen.passed);
  CHECK(seen.last->content_hash == 0xFFFFFFFFFFFFFFFAu);
  CHECK(seen.last->verdict == "wrong answer");
  CHECK(seen.last->cause == "tail_lost");
  CHECK(seen.last->message == "a sentence of two lines");
  CHECK(seen.passed->judged_at == 4);
  CHECK(seen.passed->points == 10);
  CHECK(seen.begun_from == 12);
  CHECK(seen.hints == standing.hints);
  CHECK(seen.revealed_at == 8);
}

TEST_CASE("progress: the files of two machines, one behind the other, are both of them") {
  const test::Scratch scratch;
  Progress here, there;
  here[judged_part].judged(judged("pass", 10));
  here["01_x/only_here"].judged(judged("unsolved", 1));
  here[judged_part].hints = {{"1", 4}};
  there[judged_part].judged(judged("wrong answer", 20));
  there[judged_part].hints = {{"1", 3}, {"2", 5}};
  write_progress(scratch.path() / "here", here);
  write_progress(scratch.path() / "there", there);
  const std::string a = read_text(scratch.path() / "here"), b = read_text(scratch.path() / "there");
  for (const std::string& merged : {a + b, b + a}) {
    write_text(scratch.path() / "merged", merged);
    const Progress read = read_progress(scratch.path() / "merged");
    REQUIRE(read.size() == 2);
    CHECK(read.at(judged_part).last->verdict == "wrong answer");
    CHECK(read.at(judged_part).passed->judged_at == 10);
    CHECK(read.at(judged_part).hints == std::map<std::string, std::int64_t>{{"1", 3}, {"2", 5}});
  }
}

TEST_CASE("progress: a failure of another file is kept until the student's own is judged") {
  const test::Scratch scratch;
  const fs::path file = scratch.path() / "work" / ".progress";
  change_progress(file, [&](Progress& progress) {
    progress[judged_part].judged(judged("wrong answer", 10));
    progress[judged_part].tried_elsewhere(judged("deadlock", 20));
  });
  const Progress read = read_progress(file);
  REQUIRE(read.at(judged_part).tried);
  CHECK(read.at(judged_part).tried->verdict == "deadlock");
  CHECK(read.at(judged_part).tried->message == "a sentence of two lines");
  CHECK(read.at(judged_part).last->verdict == "wrong answer");
  change_progress(file, [&](Progress& progress) {
    progress[judged_part].judged(judged("pass", 30));
    progress[judged_part].tried_elsewhere(judged("deadlock", 25));  // of another machine
  });
  CHECK_FALSE(read_progress(file).at(judged_part).tried);
}

TEST_CASE("progress: two commands that note something at once lose nothing") {
  const test::Scratch scratch;
  const fs::path file = scratch.path() / "work" / ".progress";
  const auto note = [&](const std::string& who) {
    for (int i = 0; i < 20; ++i) {
      change_progress(file, [&](Progress& progress) {
        progress[who + std::to_string(i)].judged(judged("pass", i));
      });
    }
  };
  std::thread other(note, "other");
  note("one");
  other.join();
  CHECK(read_progress(file).size() == 40);
}
