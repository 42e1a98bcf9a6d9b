// Whose fault it is, and what is said of it, through lab-grade: full disks, and texts of strangers.
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/text.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const fs::path lab_root = LOCKSTEP_ROOT;
const std::string code = "05_data_parallel/scale_learning_rate.cpp";
const std::string quiz = "05_data_parallel/quiz.toml";

// Not below /tmp, which one of the tests replaces.
class HandIns {
 public:
  HandIns() {
    std::string name = (fs::current_path() / "hand-ins-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
    path_ = name;
    write_text(path_ / "seed", "a seed for tests that is no secret\n");
    fs::permissions(path_ / "seed", fs::perms(0600));
  }
  ~HandIns() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  HandIns(const HandIns&) = delete;
  HandIns& operator=(const HandIns&) = delete;

  void hand_in(const std::string& student, const std::string& file,
               const std::string& content) const {
    write_text(path_ / "class" / student / file, content);
  }
  std::vector<std::string> command(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{LOCKSTEP_TOOL,
                                   "grade",
                                   (path_ / "class").string(),
                                   "--out",
                                   out().string(),
                                   "--exercises",
                                   "scale_learning_rate,05_data_parallel/quiz",
                                   "--seed-file",
                                   (path_ / "seed").string(),
                                   "--limits",
                                   "idle=1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  CommandResult run(const std::vector<std::string>& words) const {
    return run_command(words, path_, lockstep::test::patient);
  }
  fs::path out() const { return path_ / "out"; }
  json row(const std::string& student, const std::string& exercise) const {
    const json report = json::parse(read_text(out() / "students" / (student + ".json")));
    for (const json& row : report.at("rows")) {
      if (row.at("exercise").get<std::string>().ends_with(exercise)) return row;
    }
    return {};
  }

 private:
  fs::path path_;
};

std::string solution() { return read_text(lab_root / "solutions" / code); }

std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  if (at == std::string::npos) throw std::runtime_error("there is no " + old);
  return text.replace(at, old.size(), now);
}

// In the stub, where the part would be.
std::string part_that(const std::string& statements) {
  return "#include <cstdio>\n#include <stdexcept>\n" +
         with(read_text(lab_root / "exercises" / code), "throw NotImplemented(",
              statements + "throw NotImplemented(");
}

bool nothing_was_graded(const CommandResult& result) {
  if (result.exit_code != 3) return false;
  std::cout << "NO SANDBOX HERE: " << result.output << "\n";
  return true;
}

// An escape of the terminal, C1 as UTF-8 and as one byte, an override of direction.
const std::string nasty = "\x1b[31m\xc2\x9b\x9b\xe2\x80\xae";

std::vector<std::string> nasty_parts_in(const std::string& text) {
  std::vector<std::string> found;
  for (const char* mark : {"\x1b", "\xc2\x9b", "\x9b", "\xe2\x80\xae", "\\u001b", "\\u009b",
                           "\\u202e", "/tmp/lockstep-grade-", "unit-"}) {
    // A lone byte 0x9b is part of many characters: JSON that is no UTF-8 is found below.
    if (std::string(mark) != "\x9b" && text.find(mark) != std::string::npos)
      found.emplace_back(mark);
  }
  return found;
}

}  // namespace

TEST_CASE("grade: no text of a student moves a terminal, and none names a private folder") {
  const HandIns all;
  all.hand_in("compiles", code, solution() + "\n#error \"" + nasty + "\"\n");
  all.hand_in("throws", code, part_that("throw std::runtime_error(\"" + nasty + " thrown\");"));
  all.hand_in("prints", code, part_that("std::puts(\"" + nasty + " printed\");"));
  all.hand_in("answers", quiz,
              with(quiz_for_students(lab_root / "solutions" / quiz), "answer = \"\"",
                   "answer = \"\\u001b[31m\\u009b\\u202E answered\""));
  const std::string blank = quiz_for_students(lab_root / "solutions" / quiz);
  const std::vector<std::pair<std::string, std::string>> unreadable{
      {"empty", ""},
      {"no_quote", with(blank, "answer = \"\"", "answer = \"x")},
      {"a_word", "question = \"x\"\n"},
      {"latin", "title = \"\xe9\"\n"},
      {"deep", "a = " + std::string(300, '[') + "\n"}};
  for (const auto& [student, content] : unreadable) all.hand_in(student, quiz, content);
  const CommandResult result = all.run(all.command());
  if (nothing_was_graded(result)) return;
  INFO(result.output);
  CHECK(result.exit_code == 0);

  const std::string is_code = "/scale_learning_rate", is_quiz = "/quiz";
  CHECK(all.row("compiles", is_code).at("cause") == "syntax");
  CHECK_THAT(all.row("compiles", is_code).at("message"),
             test::contains("#error ") && test::contains("???"));
  CHECK_THAT(all.row("throws", is_code).at("message"), test::contains("?[31m??? thrown"));
  CHECK(all.row("answers", is_quiz).at("verdict") == "wrong answer");
  CHECK_THAT(read_text(all.out() / "journal.jsonl"),
             test::contains("??? printed") && test::contains("?[31m?? answered"));
  for (const auto& [student, content] : unreadable) {
    INFO(student);
    const json row = all.row(student, is_quiz);
    CHECK(row.at("verdict") == "refused");
    CHECK(row.at("cause") == "unreadable");
    CHECK_THAT(row.at("message"), test::contains("05_data_parallel/quiz"));
  }
  CHECK(nasty_parts_in(result.output).empty());
  for (const auto& entry : fs::recursive_directory_iterator(all.out())) {
    if (!entry.is_regular_file()) continue;
    INFO(entry.path());
    const std::string content = read_text(entry.path());
    CHECK(nasty_parts_in(content).empty());
    if (entry.path().extension() == ".json")
      CHECK_FALSE(json::parse(content, nullptr, false).is_discarded());
    const bool tells_times =
        entry.path().filename() == "times.json" || entry.path().filename() == "journal.jsonl";
    if (!tells_times) CHECK(content.find("seconds") == std::string::npos);
  }
}

TEST_CASE("grade: a full disk is never a student's fault, and resuming judges what it hit") {
  const HandIns all;
  // A busy machine may judge some more of them before the disk is full.
  const std::vector<std::string> students{"ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"};
  for (const std::string& student : students) {
    all.hand_in(student, code, solution() + "// " + student + "\n");
  }
  const fs::path journal = all.out() / "journal.jsonl";
  // A /tmp of its own, which is full as soon as the first file has its result. If the grader ends
  // before that ($$ is its process), nothing is left waiting.
  const std::string script =
      "mount -t tmpfs -o size=100m tmpfs /tmp || { echo no-mounts; exit 77; }\n"
      "( until grep -qs '\"record\":\"result\"' " +
      journal.string() +
      "; do kill -0 $$ || exit; sleep 0.01; done\n"
      "  head -c 200m /dev/zero > /tmp/full ) > /dev/null 2>&1 &\n"
      "exec \"$@\"\n";
  std::vector<std::string> words{"unshare", "-m", "sh", "-c", script, "sh"};
  for (const std::string& word : all.command({"--jobs", "1"})) words.push_back(word);
  const CommandResult result = all.run(words);
  if (nothing_was_graded(result)) return;
  if (result.exit_code == 77 || result.output.find("unshare") == 0) {
    std::cout << "NO MOUNTS HERE: this user cannot give a test a /tmp of its own\n";
    return;
  }
  INFO(result.output);
  CHECK(result.exit_code == 4);
  CHECK_THAT(result.output, test::contains("MiB left, and a file needs"));
  CHECK_THAT(result.output, test::contains("--resume"));
  int failed = 0;
  for (const std::string& student : students) {
    const json row = all.row(student, "/scale_learning_rate");
    CHECK((row.at("verdict") == "pass" || row.at("verdict") == "infrastructure"));
    failed += row.at("verdict") == "infrastructure";
  }
  CHECK(all.row("ann", "/scale_learning_rate").at("verdict") == "pass");
  CHECK(failed >= 2);

  const CommandResult resumed = all.run(all.command({"--resume"}));
  INFO(resumed.output);
  CHECK(resumed.exit_code == 0);
  for (const std::string& student : students) {
    CHECK(all.row(student, "/scale_learning_rate").at("points") == 10);
  }
}
