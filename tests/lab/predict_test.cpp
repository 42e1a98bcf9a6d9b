// ./lab predict: a question before a lesson's run, the run, and what came of the prediction. The
// lesson is made up; those that there are have tests/lessons/predictions_test.cpp.
#include <csignal>
#include <nlohmann/json.hpp>

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

std::string run_of(const std::string& command) {
  return "```sh run\n" + command + "\n```\n\n```text\nshown\n```\n\n";
}

// What ./lab says where a run is the first to need its programs.
const char* const builds =
    "{ echo 'the trainer with FSDP is built once, when it is first used'; echo 'building: 40 "
    "steps…'; "
    "echo 'building: 10 of 40 steps'; } >&2; ";

// A lesson of four runs: a choice, a number, one that fails, one that prints none of the choices.
struct PredictingTree : Tree {
  PredictingTree() {
    const fs::path lesson = root() / "lessons" / "06_all_reduce";
    write_text(lesson / "README.md",
               run_of("echo step 1; echo loss 2.5; " + std::string(builds) + "echo loss 2.5") +
                   run_of("echo sent 70000 bytes") + run_of("false") + run_of("echo other"));
    const auto which = [](const std::string& question) {
      return "[[run]]\nquestion = \"" + question +
             "\"\nwhy = \"Both see the same data.\"\n[[run.choice]]\nsays = \"lower\"\n"
             "[[run.choice]]\nsays = \"equal\"\nseen = '2\\.5\\nloss 2\\.5'\n";
    };
    write_text(lesson / "predict.toml",
               which("Which?") +
                   "[[run]]\nquestion = \"How many?\"\nwhy = \"Seven others.\"\n"
                   "number = 'sent (\\d+)'\nunit = \"bytes\"\nclose = 0.05\n" +
                   which("Which one?") + which("Which other?"));
  }
  std::string made() const {
    const fs::path file = root() / "work" / ".predictions";
    return fs::exists(file) ? read_text(file) : "";
  }
};

}  // namespace

TEST_CASE("lab predict: a choice that holds, and one that does not, are both told why") {
  const PredictingTree tree;
  const auto right = tree.lab({"predict", "06.1", "--answer", "b"});
  CHECK(right.exit_code == 0);
  CHECK_THAT(right.output, contains("Which?") && contains("    a  lower\n    b  equal\n") &&
                               contains("  loss 2.5\n  the trainer with FSDP is built once") &&
                               contains("Right: the run says b  equal\n") &&
                               contains("Both see the same data.") &&
                               contains("./lab predict 06.2"));
  const auto wrong = tree.lab({"predict", "6.1", "--answer", "A"});
  CHECK(wrong.exit_code == 0);
  CHECK_THAT(wrong.output,
             contains("Not as predicted: the run says b  equal; you said a  lower\n") &&
                 contains("you predicted this before: b  equal, which was right"));
  CHECK_THAT(tree.made(), contains("\tb  equal\theld\t") && !contains("lower"));
}

TEST_CASE("lab predict: of a number yours, the run's and their ratio are told") {
  const PredictingTree tree;
  CHECK_THAT(tree.lab({"predict", "06.2", "--answer", "35 kB"}).output,
             contains("Not as predicted: the run says 70,000 bytes; you said 35,000 bytes (yours "
                      "is 0.5 times that)\n") &&
                 contains("Seven others."));
  CHECK_THAT(tree.lab({"predict", "06.2", "--answer", "7e4"}).output,
             contains("Right: the run says 70,000 bytes\n"));
  CHECK_THAT(tree.lab({"predict", "06.2", "--answer", "73000"}).output,
             contains("Right: the run says 70,000 bytes (yours is 1.04 times that)\n"));
  CHECK_THAT(tree.lab({"predict", "06.2", "--answer", "74000"}).output, contains("Not as"));
}

TEST_CASE("lab predict: the list says which predictions were made, and what is open") {
  const PredictingTree tree;
  CHECK_THAT(tree.lab({"predict"}).output, contains("  06.1  open      Which?\n") &&
                                               contains("predictions made 0 of 4;") &&
                                               contains("next      ./lab predict 06.1\n"));
  tree.lab({"predict", "06.1", "--answer", "a"});
  tree.lab({"predict", "06.2", "--answer", "70000"});
  CHECK_THAT(tree.lab({"predict", "06"}).output,
             contains("  06.1  missed    Which?\n") && contains("  06.2  right     How many?\n") &&
                 contains("predictions made 2 of 4, 1 of them right; they earn no points"));
  CHECK_THAT(tree.lab({"overview"}).output, contains("predictions made 2 of 4, 1 of them right"));
  const auto list = nlohmann::json::parse(tree.lab({"predict", "--json"}).output);
  CHECK(list.size() == 4);
  CHECK(list.at(0).at("held") == false);
  CHECK(list.at(1).at("answer") == "70,000 bytes");
  CHECK(list.at(3).at("made") == false);
  CHECK_THAT(tree.lab({"predict", "05"}).output, contains("lesson 05 asks for no predictions"));
}

TEST_CASE("lab predict: --json is the question, and with --answer what came of it") {
  const PredictingTree tree;
  const auto question = nlohmann::json::parse(tree.lab({"predict", "06.2", "--json"}).output);
  CHECK(question.at("unit") == "bytes");
  CHECK_FALSE(question.contains("seen"));
  CHECK(tree.made().empty());
  const auto document =
      nlohmann::json::parse(tree.lab({"predict", "06.2", "--json", "--answer", "140000"}).output);
  CHECK(document.at("seen") == 70000);
  CHECK(document.at("ratio") == 2);
  CHECK(document.at("held") == false);
  CHECK(document.at("output") == "sent 70000 bytes\n");
}

TEST_CASE(
    "lab predict: a run that fails or answers nothing is the lab's trouble, not the student's") {
  const PredictingTree tree;
  const auto fails = tree.lab({"predict", "06.3", "--answer", "a"});
  CHECK(fails.exit_code == 4);
  CHECK_THAT(fails.output, contains("this is not your code") && contains("exit code 1"));
  const auto other = tree.lab({"predict", "06.4", "--answer", "a"});
  CHECK(other.exit_code == 4);
  CHECK_THAT(other.output, contains("matches none of the answers"));
  CHECK(tree.made().empty());
}

TEST_CASE("lab predict: what is no run or no answer has exit code 2, and nothing runs") {
  const PredictingTree tree;
  const auto refused = [&](std::vector<std::string> words, const std::string& why) {
    words.insert(words.begin(), "predict");
    const auto result = tree.lab(words);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, contains(why) && !contains("loss 2.5"));
  };
  refused({"06.5"}, "the last one is 06.4");
  refused({"05.1"}, "lesson 05 asks for no predictions");
  refused({"77"}, "there is no lesson '77'");
  refused({"06.x"}, "'06.x' is not a run");
  refused({"06.1", "06.2"}, "name one run");
  refused({"06.1", "--answer", "c"}, "'c' is not an answer here: one letter, a to b");
  refused({"06.2", "--answer", "7 s"}, "a number, in bytes");
  refused({"06.1"}, "--answer ANSWER");  // standard input is empty
  write_text(tree.root() / "lessons/06_all_reduce/predict.toml", "[[run]]\nquestion = 1\n");
  refused({"06.1"}, "predict.toml:2: 'question' is not a string");
}

TEST_CASE("lab predict: a terminal is asked again until an answer is understood") {
  const PredictingTree tree;
  Running predict({LOCKSTEP_TOOL, "--root", tree.root().string(), "predict", "06.1"}, tree.root(),
                  Seen::on_a_terminal);
  predict.wait_for("one letter, a to b");
  predict.type("7\n");
  predict.wait_for("'7' is not an answer here");
  predict.type("b\n");
  predict.wait_for("Right: the run says b");
  CHECK(predict.exit_code() == 0);
  CHECK_THAT(tree.made(), contains("\theld\t"));
}

TEST_CASE("lab predict: Ctrl-C ends the run with all that it started, and records nothing") {
  const PredictingTree tree;
  const fs::path readme = tree.root() / "lessons/06_all_reduce/README.md";
  std::string words = read_text(readme);
  const std::string loops = "sh -c 'while :; do date >alive; sleep 0.05; done'";
  words.replace(words.find("false"), 5, "echo begins; " + loops);
  write_text(readme, words);
  Running predict({LOCKSTEP_TOOL, "--root", tree.root().string(), "predict", "06.3", "--answer=a"},
                  tree.root(), Seen::on_a_terminal);
  predict.wait_for("begins");
  predict.wait_for("… 1 s");
  predict.send(SIGINT);
  predict.wait_for("nothing is recorded");
  CHECK(predict.exit_code() == 128 + SIGINT);
  CHECK(tree.made().empty());
  fs::remove(tree.root() / "alive");
  const auto later = run_command({"sh", "-c", "sleep 0.5; ls alive"}, tree.root(), {});
  CHECK(later.exit_code != 0);
}

TEST_CASE("the site: a run that is to be predicted has its form before the output and why behind") {
  const PredictingTree tree;
  const fs::path lesson = tree.root() / "lessons" / "06_all_reduce";
  const std::string output = "```text\nsent 70000 bytes\n```\n";
  write_text(lesson / "README.md",
             "# All\n\n```text\nother\n```\n\n```sh run\necho\n```\n\n" + output + "\nafter\n");
  write_text(lesson / "predict.toml",
             "[[run]]\nquestion = \"`D` < 1?\"\nwhy = \"Seven & more.\"\n"
             "number = 'sent (\\d+)'\nunit = \"bytes\"\nclose = 0.05\n");
  const std::string folder = (tree.root() / "build/docs/made/predictions").string();
  CHECK(tree.lab({"dev", "predictions", folder}).exit_code == 0);
  const std::string page =
      run_command({"awk", "-v", "root=" + tree.root().string(), "-f",
                   LOCKSTEP_ROOT "/docs/site/pages.awk", (lesson / "README.md").string()},
                  tree.root(), {})
          .output;
  const auto form = page.find(
      "<form class=\"predict\" data-number=\"70000\" data-close=\"0.05\" "
      "data-unit=\"bytes\">");
  const auto question = page.find("<p><code>D</code> &lt; 1?</p>");
  const auto shown = page.find("sent 70000 bytes");
  const auto why = page.find("<p class=\"why\">Seven &amp; more.</p></div>");
  CHECK(page.find("other") < form);
  CHECK(form < question);
  CHECK(question < shown);
  CHECK(shown < why);
  CHECK(why < page.find("after"));
  CHECK(page.find("<form", form + 1) == std::string::npos);

  write_text(lesson / "README.md", "# All\n\n```sh run\necho\n```\n\n```text\nother\n```\n");
  CHECK(tree.lab({"dev", "predictions", folder}).exit_code == 4);
}
