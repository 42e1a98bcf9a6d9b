#include "grader/course/predictions.hpp"

#include "engine/base/error.hpp"
#include "grader/course/predictions_made.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

std::vector<Prediction> read_predictions(const std::string& toml) {
  const test::Scratch scratch;
  write_text(scratch.path() / "predict.toml", toml);
  return predictions_of(scratch.path() / "predict.toml");
}

const std::string asked_table = "[[run]]\nquestion = \"q\"\nwhy = \"w\"\n";
const std::string two_choices =
    "[[run.choice]]\nsays = \"more\"\n[[run.choice]]\nsays = \"equal\"\nseen = "
    "'1\\.5[\\s\\S]*1\\.5'\n";

}  // namespace

TEST_CASE("predictions: a choice is right when its expression is found in the whole output") {
  const Prediction asked = read_predictions(asked_table + two_choices).at(0);
  CHECK(asked.choices.size() == 2);
  CHECK(value_in(asked, "loss 1.5\nother\nloss 1.5\n").choice == 1);
  CHECK_THROWS_WITH(value_in(asked, "loss 1.5\nloss 1.4\n"), test::contains("none"));
  CHECK(answer_of(asked, " B ")->choice == 1);
  CHECK(answer_of(asked, "a")->choice == 0);
  for (const char* none : {"", "c", "ab", "1", "-"}) CHECK_FALSE(answer_of(asked, none));
  CHECK(holds(asked, {1, 0}, {1, 0}));
  CHECK_FALSE(holds(asked, {0, 0}, {1, 0}));
  CHECK(expects_of(asked) == "one letter, a to b");
}

TEST_CASE("predictions: a number is what the first group finds, as near as the lesson asks") {
  const Prediction asked =
      read_predictions(asked_table + "number = 'sent (\\d+)'\nunit = \"GB\"\nclose = 0.05\n").at(0);
  CHECK(value_in(asked, "rank 3 sent 100 GB\n").number == 100);
  CHECK_THROWS_WITH(value_in(asked, "sent nothing\n"), test::contains("no number"));
  CHECK(answer_of(asked, "100")->number == 100);
  CHECK(answer_of(asked, "1e2 GB")->number == 100);
  CHECK(answer_of(asked, "100,000 MB")->number == 100);
  for (const char* none : {"", "many", "100 s"}) CHECK_FALSE(answer_of(asked, none));
  CHECK(holds(asked, {0, 95}, {0, 100}));
  CHECK_FALSE(holds(asked, {0, 94}, {0, 100}));
  const Prediction exact = read_predictions(asked_table + "number = 'sent (\\d+)'\n").at(0);
  CHECK(holds(exact, {0, 100}, {0, 100}));
  CHECK_FALSE(holds(exact, {0, 100.001}, {0, 100}));
  CHECK_FALSE(answer_of(exact, "100 GB"));
}

TEST_CASE("predictions: of a very long output the end is searched") {
  const Prediction asked = read_predictions(asked_table + two_choices).at(0);
  const std::string much(1 << 20, 'x');
  CHECK(value_in(asked, much + "1.5\n1.5\n").choice == 1);
}

TEST_CASE("predictions: what is wrong with the file is said with its line") {
  const auto refused = [](const std::string& toml, const std::string& line,
                          const std::string& why) {
    CAPTURE(toml);
    CHECK_THROWS_WITH(read_predictions(toml),
                      test::contains("predict.toml:" + line + ": ") && test::contains(why));
  };
  refused("[[run]]\nwhy = \"w\"\nnumber = '(1)'\n", "1", "'question' is missing");
  refused("[[run]]\nquestion = \"q\"\nwhy = 3\nnumber = '(1)'\n", "3", "'why' is not a string");
  refused(asked_table, "1", "either choices or a number");
  refused(asked_table + "number = '(1)'\n" + two_choices, "1", "either choices or a number");
  refused(asked_table + "number = '1'\n", "4", "needs a group");
  refused(asked_table + "number = '(1'\n", "4", "not a regular expression");
  refused(asked_table + "number = '(1)'\nclose = 2\n", "5", "'close'");
  refused(asked_table + "number = '(1)'\nclosed = 0.1\n", "5", "did you mean close?");
  refused(asked_table + "[[run.choice]]\nsays = \"a\"\n[[run.choice]]\nsays = \"b\"\n", "4",
          "has 'seen'");
  refused(asked_table + "[[run.choice]]\nsays = \"a\"\nseen = '[a'\n", "6",
          "not a regular expression");
  refused(asked_table + "[[run.choice]]\nsays = \"a\"\nsaw = 'a'\n", "6", "did you mean says?");
  refused("[[runs]]\n", "1", "did you mean run?");
  refused("[[run]]\nquestion = \"q\n", "2", "TOML");
}

TEST_CASE("predictions: the first answer is what is remembered, and broken lines are left out") {
  const test::Scratch scratch;
  const auto file = scratch.path() / "work" / ".predictions";
  CHECK(read_predictions_made(file).empty());
  note_prediction(file, "06_all_reduce", "How many?", {"35\tGB", false, 100});
  note_prediction(file, "06_all_reduce", "How many?", {"70", true, 200});
  note_prediction(file, "06_all_reduce", "How long?", {"b", true, 300});
  write_text(file, read_text(file) + "predicted\tonly this\n");
  const PredictionsMade made = read_predictions_made(file);
  CHECK(made.size() == 2);
  const PredictionMade& first = made.at({"06_all_reduce", question_hash("How many?")});
  CHECK(first.answer == "35 GB");
  CHECK_FALSE(first.held);
  CHECK(first.made_at == 100);
  CHECK(made.at({"06_all_reduce", question_hash("How long?")}).held);
}
