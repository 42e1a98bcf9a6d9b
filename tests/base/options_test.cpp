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

// As train_options, by section and with what does not combine.
Options options_with_rules() {
  Options options("lab train", "Trains a model.");
  options.section("what to train")
      .choice("model", {"mlp", "gpt"}, "mlp", "the model")
      .option("data", "", "the samples:\nof images\nor text");
  options.section("language model", "--model gpt")
      .option("layers", "4", "number of blocks")
      .list("stop", "a word to stop at")
      .flag("untied", "two matrices");
  options.section("run")
      .option("epochs", "3", "passes")
      .option("steps", "", "steps")
      .option("workers", "0", "readers")
      .exclude({"epochs", "steps", "workers"}, "cannot both be; pass only one")
      .flag("resume", "go on")
      .only_if({"resume", "workers"}, "needs --data FOLDER",
               [](const Arguments& arguments) { return arguments.has("--data"); })
      .option("ahead", "2", "batches")
      .only_with({"ahead"}, "--workers");
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
  CHECK_THROWS_WITH(parse(train_options(), {"--ranks"}), "--ranks needs a value: processes");
  CHECK_THROWS_WITH(parse(options_with_rules(), {"--data"}), "--data needs a value: the samples");
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

TEST_CASE("options: a flag may have a value, behind it or behind an equals sign") {
  Options options("lab train", "Trains a model.");
  options.flag("resume", {"auto"}, "go on").option("steps", "", "steps");
  CHECK(parse(options, {}).get("resume") == "false");
  CHECK(parse(options, {"--resume"}).flag("resume"));
  CHECK(parse(options, {"--resume", "--steps", "3"}).flag("resume"));
  for (const auto& words : std::vector<std::vector<const char*>>{
           {"--resume", "auto"}, {"--resume=auto"}, {"--steps", "3", "--resume", "auto"}}) {
    const auto arguments = parse(options, words);
    CHECK(arguments.has("--resume auto"));
    CHECK_FALSE(arguments.flag("resume"));
    CHECK(arguments.typed().back().words == std::vector<std::string>{"--resume=auto"});
  }
  CHECK_THROWS_WITH(parse(options, {"--resume", "atuo"}),
                    contains("--resume atuo is not known; did you mean auto?"));
  CHECK_THAT(options.help(), contains("--resume [auto]  go on\n"));
}

TEST_CASE("options: what a person may call a choice is refused, and that choice proposed") {
  Options options("lab train", "Trains a model.");
  options.choice("device", {"cpu", "cuda"}, "cpu", "where").alias("gpu", "cuda");
  options.choice("model", {"mlp", "gpt"}, "mlp", "the model");
  CHECK_THROWS_WITH(parse(options, {"--device", "gpu"}),
                    "--device gpu is not known; did you mean cuda? (choices: cpu, cuda)");
  CHECK_THROWS_WITH(parse(options, {"--device", "cpi"}), contains("did you mean cpu?"));
  CHECK_THROWS_WITH(parse(options, {"--model", "gpu"}), contains("did you mean gpt?"));
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

TEST_CASE("options: a section is a heading in the help, and later lines of a help stand below it") {
  const std::string help = options_with_rules().help();
  CHECK_THAT(help, contains("usage: lab train [options]\n\n"
                            "  --help       print this help and exit\n\n"
                            "what to train\n"
                            "  --model X    the model: mlp, gpt (default mlp)\n"
                            "  --data X     the samples:\n"
                            "               of images\n"
                            "               or text\n\n"
                            "language model (--model gpt)\n"
                            "  --layers X   number of blocks (default 4)\n"));
}

TEST_CASE("options: what a section or a rule says belongs to a setting is refused without it") {
  const Options options = options_with_rules();
  CHECK_THROWS_WITH(parse(options, {"--layers", "3"}),
                    "--layers belongs to --model gpt; leave it out");
  CHECK_THROWS_WITH(parse(options, {"--model", "mlp", "--untied"}),
                    "--untied belongs to --model gpt; leave it out");
  CHECK_THROWS_AS(parse(options, {"--stop", "a"}), UsageError);
  CHECK(parse(options, {"--untied", "--layers=3", "--model", "gpt"}).integer("layers") == 3);
  CHECK_THROWS_WITH(parse(options, {"--ahead", "3"}), "--ahead belongs to --workers; leave it out");
  CHECK_THROWS_WITH(parse(options, {"--resume"}), "--resume needs --data FOLDER");
  CHECK(parse(options, {"--resume", "--data", "x"}).flag("resume"));
  CHECK(parse(options, {"--data", "x", "--workers", "1", "--ahead", "3"}).given("ahead"));
}

TEST_CASE("options: of what excludes each other one may be given, and two are one sentence") {
  const Options options = options_with_rules();
  CHECK_THROWS_WITH(parse(options, {"--steps", "1", "--epochs", "2"}),
                    "--epochs and --steps cannot both be; pass only one");
  CHECK_THROWS_WITH(parse(options, {"--data", "x", "--workers=1", "--steps=2"}),
                    "--steps and --workers cannot both be; pass only one");
  CHECK(parse(options, {"--steps", "1"}).integer("epochs") == 3);
}

TEST_CASE("options: help and a part of a command line are not asked what combines") {
  const Options options = options_with_rules();
  CHECK(parse(options, {"--layers", "3", "--help"}).asks_help());
  const std::vector<const char*> words{"program", "--steps", "1", "--epochs", "2"};
  CHECK(options.read(static_cast<int>(words.size()), words.data()).given("steps"));
}

TEST_CASE("options: a rule about an option that was never declared fails in every run") {
  CHECK_THROWS_AS(parse(options_with_rules().only_with({"ahed"}, "--workers"), {}), ContractError);
  CHECK_THROWS_AS(parse(options_with_rules().only_with({"ahead"}, "--wokers"), {}), ContractError);
  CHECK_THROWS_AS(parse(options_with_rules().exclude({"ahed"}, ""), {}), ContractError);
}

TEST_CASE("options: a setting is a value, typed or by default, or any value but the default") {
  const auto has = [](std::vector<const char*> words, const char* setting) {
    return parse(options_with_rules(), std::move(words)).has(setting);
  };
  CHECK(has({}, "--model mlp"));
  CHECK_FALSE(has({"--model", "gpt"}, "--model mlp"));
  CHECK(has({"--model=gpt", "--untied"}, "--untied"));
  CHECK_FALSE(has({"--model=gpt", "--untied=false"}, "--untied"));
  CHECK_FALSE(has({"--data", "x", "--workers", "0"}, "--workers"));
  CHECK(has({"--data", "x", "--workers", "0", "--workers=2"}, "--workers"));
  CHECK(has({"--model=gpt", "--stop", "a"}, "--stop"));
  CHECK_FALSE(has({}, "--stop"));
  CHECK(has({"--data=topk:0.1"}, "--data topk:"));
  CHECK_FALSE(has({"--data=topk:0.1"}, "--data topk"));
  CHECK_FALSE(has({"--data=randomtopk:0.1"}, "--data topk:"));
  CHECK_FALSE(has({"--data=topk"}, "--data topk:"));
  CHECK_FALSE(has({"--data="}, "--data"));
  CHECK_THROWS_AS(has({}, "model gpt"), ContractError);
}

TEST_CASE("options: what was typed can be said again, in order and in words that mean the same") {
  const auto arguments =
      parse(options_with_rules(), {"--model=gpt", "--stop", "--x", "--untied", "--stop=b",
                                   "--resume=false", "--data", "a b", "--layers="});
  std::vector<std::string> names, words;
  for (const auto& typed : arguments.typed()) {
    names.push_back(typed.name);
    words.insert(words.end(), typed.words.begin(), typed.words.end());
  }
  CHECK(names ==
        std::vector<std::string>{"model", "stop", "untied", "stop", "resume", "data", "layers"});
  CHECK(words == std::vector<std::string>{"--model", "gpt", "--stop=--x", "--untied", "--stop", "b",
                                          "--resume=false", "--data", "a b", "--layers="});
  std::vector<const char*> again;
  for (const auto& word : words) again.push_back(word.c_str());
  CHECK(parse(options_with_rules(), again).list("stop") == arguments.list("stop"));
}

TEST_CASE("options: arguments with one option set are those, and the option as if it was typed") {
  const auto arguments = parse(options_with_rules(), {"--model", "gpt"});
  const auto with = arguments.with("layers", "7");
  CHECK((with.given("layers") && with.integer("layers") == 7 && with.has("--model gpt")));
  CHECK_FALSE(arguments.given("layers"));
  CHECK(with.typed().size() == 1);
}

TEST_CASE("options: asking for an option that was never declared is a contract error") {
  CHECK_THROWS_AS(parse(train_options(), {}).get("rank"), ContractError);
}
