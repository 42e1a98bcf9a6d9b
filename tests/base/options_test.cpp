#include "engine/base/options.hpp"

#include <vector>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

Options train_options() {
  Options options("lab train", "Trains a model.");
  options.option("ranks", "1", "processes")
      .option("lr", "0.05", "learning rate")
      .option("log", "", "file of the log")
      .choice("optimizer", {"sgd", "adam"}, "sgd", "update rule")
      .flag("json", "one JSON document");
  return options;
}

Arguments parse(const Options& options, std::vector<const char*> words) {
  words.insert(words.begin(), "program");
  return options.parse(static_cast<int>(words.size()), words.data());
}

}  // namespace

TEST_CASE("options: what is not typed has its default and counts as not given") {
  const auto arguments = parse(train_options(), {});
  CHECK(arguments.integer("ranks") == 1);
  CHECK(arguments.number("lr") == 0.05);
  CHECK(arguments.get("log").empty());
  CHECK(arguments.get("optimizer") == "sgd");
  CHECK_FALSE(arguments.flag("json"));
  CHECK_FALSE(arguments.given("ranks"));
  CHECK_FALSE(arguments.asks_help());
}

TEST_CASE("options: a value may follow a blank or an equals sign, also a negative or empty one") {
  const auto arguments =
      parse(train_options(), {"--ranks", "4", "--lr=-1e-3", "--json", "--optimizer=adam"});
  CHECK(arguments.integer("ranks") == 4);
  CHECK(arguments.given("ranks"));
  CHECK(arguments.number("lr") == -1e-3);
  CHECK(arguments.flag("json"));
  CHECK(arguments.get("optimizer") == "adam");
  CHECK(parse(train_options(), {"--ranks", "-2"}).integer("ranks") == -2);
}

TEST_CASE("options: an unknown option is refused with the nearest name") {
  CHECK_THROWS_WITH(parse(train_options(), {"--rnaks", "2"}), contains("did you mean --ranks?"));
  CHECK_THROWS_WITH(parse(train_options(), {"--optimiser=sgd"}),
                    contains("unknown option --optimiser=sgd; did you mean --optimizer?"));
  CHECK_THROWS_WITH(parse(train_options(), {"-x"}),
                    contains("unknown option -x (lab train --help lists all options)"));
}

TEST_CASE("options: a missing value, a bad number and an unknown choice are each one sentence") {
  CHECK_THROWS_AS(parse(train_options(), {"--ranks"}), UsageError);
  CHECK_THROWS_WITH(parse(train_options(), {"--ranks", "two"}).integer("ranks"),
                    contains("--ranks takes a whole number, got \"two\""));
  CHECK_THROWS_AS(parse(train_options(), {"--ranks", "2x"}).integer("ranks"), UsageError);
  CHECK_THROWS_AS(parse(train_options(), {"--ranks", ""}).integer("ranks"), UsageError);
  CHECK_THROWS_WITH(parse(train_options(), {"--ranks", "0"}).integer("ranks", 1),
                    contains("at least 1, got 0"));
  for (const char* word : {"nan", "inf", "1e999", "1.5x", ""}) {
    CAPTURE(word);
    CHECK_THROWS_AS(parse(train_options(), {"--lr", word}).number("lr"), UsageError);
  }
  CHECK_THROWS_WITH(parse(train_options(), {"--optimizer", "adan"}),
                    contains("did you mean adam?"));
}

TEST_CASE("options: words and what follows -- are taken only where they are declared") {
  CHECK_THROWS_WITH(parse(train_options(), {"mlp"}), contains("\"mlp\" is not expected"));
  CHECK_THROWS_WITH(parse(train_options(), {"--", "mlp"}), contains("nothing may follow"));
  auto run_options = train_options();
  run_options.rest("PROGRAM ARGS…", "what to start");
  CHECK_THROWS_WITH(parse(run_options, {"--ranks", "3", "echo", "hi"}),
                    contains("put -- before the program: lab train [options] -- echo …"));
  auto options = train_options();
  options.words("[NAME…]", "exercises").rest("PROGRAM ARGS…", "what to start");
  const auto arguments =
      parse(options, {"one,two", "--ranks", "2", "three", "--", "prog", "--ranks", "--x", "--"});
  CHECK(arguments.words() == std::vector<std::string>{"one,two", "three"});
  CHECK(arguments.rest() == std::vector<std::string>{"prog", "--ranks", "--x", "--"});
  CHECK(arguments.integer("ranks") == 2);
}

TEST_CASE("options: help shows purpose, usage, options and defaults") {
  const std::string help = train_options().words("NAME", "an exercise").help();
  CHECK_THAT(help, contains("Trains a model."));
  CHECK_THAT(help, contains("usage: lab train [options] NAME"));
  CHECK_THAT(help, contains("processes (default 1)"));
  CHECK_THAT(help, contains("update rule: sgd, adam (default sgd)"));
  CHECK(parse(train_options(), {"--help"}).asks_help());
}

TEST_CASE("options: asking for an option that was never declared is a contract error") {
  CHECK_THROWS_AS(parse(train_options(), {}).get("rank"), ContractError);
}
