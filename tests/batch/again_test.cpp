// A class that is graded more than once: some students, a second judgement, points by hand, late
// hand-ins, other names, and a new version of an exercise.
#include <iostream>
#include <nlohmann/json.hpp>

#include "grader/course/compile/command.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

const fs::path tree_root = LOCKSTEP_ROOT;

// Quizzes alone: no compiler is needed, so a run takes as long as its canaries.
struct QuizClass {
  QuizClass() {
    for (const char* student : {"amy", "bob", "cid"}) hand_in(student, "");
    write_text(scratch.path() / "seed", "a seed for tests that is no secret\n");
    fs::permissions(scratch.path() / "seed", fs::perms(0600));
  }
  fs::path submissions() const { return scratch.path() / "submissions"; }
  fs::path out() const { return scratch.path() / "out"; }
  void hand_in(const std::string& who, const std::string& more) const {
    const std::string quiz = answered_quiz(tree_root / "solutions/05_data_parallel/quiz.toml");
    write_text(submissions() / who / "05_data_parallel" / "quiz.toml", quiz + more);
  }
  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> words{LOCKSTEP_TOOL, "grade", submissions().string(), "--out",
                                   out().string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  CommandResult grade(const std::vector<std::string>& more) const {
    return run_command(command(more), scratch.path(), lockstep::test::patient);
  }
  // The same where the quiz has another key.
  CommandResult grade_by_new_key(const std::vector<std::string>& more) const {
    const fs::path key = tree_root / "solutions/05_data_parallel/quiz.toml";
    const fs::path mended = scratch.path() / "quiz_key.toml";
    write_text(mended, read_text(key) + "# mended\n");
    std::vector<std::string> words{
        "unshare",
        "-m",
        "sh",
        "-c",
        "mount --bind " + mended.string() + " " + key.string() + " || exit 77; exec \"$@\"",
        "sh"};
    for (const std::string& word : command(more)) words.push_back(word);
    return run_command(words, scratch.path(), lockstep::test::patient);
  }
  std::string written(const char* file) const { return read_text(out() / file); }
  // Those of the grades that tell a word, in their names or in their texts.
  std::vector<std::string> files_with(const std::string& word) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(out())) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().lexically_relative(out());
      if ((name + read_text(entry.path())).find(word) != std::string::npos) found.push_back(name);
    }
    return found;
  }
  test::Scratch scratch;
};

}  // namespace

TEST_CASE("grade again: what is left out is as it was, and some students or files are judged") {
  const QuizClass a_class;
  const CommandResult first =
      a_class.grade({"--exercises", "05_data_parallel/quiz", "--limits", "idle=2"});
  if (first.exit_code == 3) {
    std::cout << "NO SANDBOX HERE: " << first.output << "\n";
    return;
  }
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.output, test::contains("1 file judged now"));
  CHECK_THAT(first.output, test::contains("1 file to judge\n"));  // in a log, from the start
  const std::string grades = a_class.written("grades.csv");

  a_class.hand_in("amy", "# corrected\n");
  a_class.hand_in("bob", "# corrected, too\n");
  const CommandResult some = a_class.grade({"--resume", "--students", "amy"});
  INFO(some.output);
  REQUIRE(some.exit_code == 0);
  CHECK_THAT(some.output, test::contains("1 file judged now"));
  CHECK(a_class.written("grades.csv") == grades);

  const CommandResult again = a_class.grade({"--regrade", "amy/05,cid"});
  REQUIRE(again.exit_code == 0);
  CHECK_THAT(again.output, test::contains("3 different files judged now"));  // bob's new one, too
  CHECK(a_class.written("grades.csv") == grades);

  SECTION("another version of an exercise is judged again for everybody, or not at all") {
    const CommandResult mixed = a_class.grade_by_new_key({"--resume"});
    if (mixed.exit_code == 77 || mixed.output.starts_with("unshare")) {
      std::cout << "NO MOUNTS HERE: this user cannot give a test another key\n";
      return;
    }
    INFO(mixed.output);
    CHECK(mixed.exit_code == 2);
    CHECK_THAT(mixed.output, test::contains("05_data_parallel/quiz has changed since it was"));
    CHECK_THAT(mixed.output, test::contains("pass --regrade '*"));
    CHECK(a_class.grade_by_new_key({"--regrade", "amy"}).exit_code == 2);
    const CommandResult all = a_class.grade_by_new_key({"--regrade", "*/05_data_parallel/quiz"});
    INFO(all.output);
    REQUIRE(all.exit_code == 0);
    CHECK_THAT(all.output, test::contains("3 different files judged now"));
    CHECK(a_class.written("grades.csv") == grades);
    CHECK_THAT(a_class.grade_by_new_key({"--resume"}).output,
               test::contains("0 different files judged now"));
  }
  SECTION("points by hand, lateness and pseudonyms change what is written, and nothing is judged") {
    write_text(a_class.scratch.path() / "o.csv",
               "student,exercise,points,comment,reason\nbob,05_data_parallel/quiz,1,well argued,an "
               "appeal\n");
    write_text(a_class.scratch.path() / "late.toml",
               "deadline = 2020-01-01T00:00:00Z\nloss_per_day = 1\ncap = 100\n"
               "[extensions]\ncid = 2099-01-01T00:00:00Z\n");
    const CommandResult wishes =
        a_class.grade({"--resume", "--overrides", "o.csv", "--late", "late.toml", "--late-from",
                       "mtime", "--anonymous"});
    INFO(wishes.output);
    REQUIRE(wishes.exit_code == 0);
    CHECK_THAT(wishes.output, test::contains("0 different files judged now"));
    CHECK_THAT(wishes.output, test::contains("changed  2 rows"));
    const std::string hidden = a_class.written("grades.csv");
    for (const char* name : {"amy", "bob", "cid"}) CHECK_THAT(hidden, !test::contains(name));
    CHECK_THAT(hidden, test::contains("set by hand to 1: an appeal\",well argued\n"));
    CHECK_THAT(hidden, test::contains(": 100 % lost"));
    CHECK_THAT(a_class.written("names.csv"), test::contains(",amy\n"));
    CHECK_FALSE(fs::exists(a_class.out() / "students/amy.json"));

    // Formats that are not asked for again would still tell the names.
    REQUIRE(a_class.grade({"--resume", "--format", "json,csv,html,gradescope"}).exit_code == 0);
    REQUIRE(a_class.grade({"--resume", "--format", "junit", "--anonymous"}).exit_code == 0);
    for (const std::string& file : a_class.files_with("amy")) {
      INFO(file);
      CHECK((file == "journal.jsonl" || file == "names.csv"));
    }
    CHECK_FALSE(fs::exists(a_class.out() / "gradebook.csv"));

    const CommandResult shown = a_class.grade({"--resume"});  // all of that is in the journal
    REQUIRE(shown.exit_code == 0);
    CHECK(fs::exists(a_class.out() / "students/amy.json"));
    const std::string later = a_class.written("grades.csv");
    CHECK_THAT(later, test::contains("\nbob,05_data_parallel/quiz,pass,1,"));
    CHECK_THAT(later, test::contains("\namy,05_data_parallel/quiz,pass,0,"));
    fs::last_write_time(a_class.submissions() / "amy/05_data_parallel/quiz.toml",
                        fs::file_time_type::clock::now());
    REQUIRE(a_class.grade({"--resume"}).exit_code == 0);
    CHECK(a_class.written("grades.csv") == later);  // the first time that was seen holds
  }
}
