// train on simulated ranks, as a person runs it: the losses of real processes, virtual time that
// is the same in every run, and what a device that is too small says.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::Approx;
using lockstep::test::contains;

namespace {

using Words = std::vector<std::string>;

struct Run {
  CommandResult result;
  std::vector<nlohmann::json> log;
};

Run train(Words words) {
  const lockstep::test::Scratch scratch;
  words.insert(words.begin(), LOCKSTEP_TRAIN);
  words.insert(words.end(), {"--log", "log.jsonl"});
  Run run{run_command(words, scratch.path(), lockstep::test::patient), {}};
  if (run.result.exit_code != 0) return run;
  std::istringstream lines(read_text(scratch.path() / "log.jsonl"));
  for (std::string line; std::getline(lines, line);) run.log.push_back(nlohmann::json::parse(line));
  return run;
}

Run train_with(const Words& common, const Words& own) {
  Words words = common;
  words.insert(words.end(), own.begin(), own.end());
  return train(std::move(words));
}

// Every loss, and the parameters at the end, as they are written: all digits.
std::string numbers_of(const Run& run) {
  std::string all;
  for (const nlohmann::json& line : run.log) {
    for (const char* field : {"loss", "test_loss", "test_accuracy", "parameters_hash"}) {
      if (line.contains(field)) all += line[field].dump() + "\n";
    }
  }
  return all;
}

const Words mlp{"--data", "synthetic", "--steps", "5", "--batch-size", "16"};
const Words gpt{
    "--model", "gpt",       "--sizes-only", "--layers", "3",       "--width", "64",
    "--heads", "4",         "--sequence",   "32",       "--vocab", "128",     "--batch-size",
    "2",       "--backend", "sim"};

}  // namespace

TEST_CASE("train on sim: the same bits as on real processes") {
  const std::string ranks = GENERATE("1", "2", "4");
  const Words way =
      GENERATE(Words{}, Words{"--no-overlap"}, Words{"--all-reduce", "ring"},
               Words{"--all-reduce", "hierarchical"}, Words{"--workers", "2"}, Words{"--horovod"});
  Words common = mlp;
  common.insert(common.end(), {"--ranks", ranks});
  common.insert(common.end(), way.begin(), way.end());
  const Run real = train(common), simulated = train_with(common, {"--backend", "sim"});
  CAPTURE(ranks, real.result.output, simulated.result.output);
  REQUIRE(real.result.exit_code == 0);
  REQUIRE(simulated.result.exit_code == 0);
  CHECK(numbers_of(simulated) == numbers_of(real));
  CHECK(simulated.log.front()["backend"] == "sim");
}

TEST_CASE("train on sim: seconds are virtual and the same in every run, wall_seconds are added") {
  const Words words{"--backend", "sim", "--ranks", "3"};
  const Run one = train_with(mlp, words), again = train_with(mlp, words);
  REQUIRE(one.log.size() == again.log.size());
  REQUIRE(one.log.size() == 1 + 5 + 1 + 1);
  for (std::size_t i = 0; i < one.log.size(); ++i) {
    if (one.log[i]["event"] != "step" && one.log[i]["event"] != "end") continue;
    CHECK(one.log[i]["seconds"] == again.log[i]["seconds"]);
    CHECK(one.log[i].contains("wall_seconds"));
  }
  CHECK_FALSE(train(mlp).log.back().contains("wall_seconds"));
  CHECK_THAT(one.result.output, contains("of virtual time") && contains("exposed"));
}

TEST_CASE("train on sim: sizes alone have times and memory, and no loss") {
  Words common = gpt;
  common.insert(common.end(), {"--ranks", "4"});
  const std::string all_reduce = GENERATE("native", "ring");
  common.insert(common.end(), {"--all-reduce", all_reduce});
  const Run overlapped = train_with(common, {"--bucket-mb", "0.1"});
  const Run plain = train_with(common, {"--no-overlap"});
  CAPTURE(overlapped.result.output, plain.result.output);
  REQUIRE(overlapped.result.exit_code == 0);
  REQUIRE(plain.result.exit_code == 0);
  CHECK(overlapped.log[3]["loss"].is_null());
  CHECK(overlapped.log[3]["exposed_s"] < overlapped.log[3]["communication_s"]);
  CHECK(plain.log[3]["exposed_s"] == plain.log[3]["communication_s"]);
  CHECK_THAT(overlapped.result.output, contains("(MFU)"));
  CHECK_THAT(overlapped.result.output, !contains("loss") && !contains("accuracy"));
}

TEST_CASE("train on sim: a slow rank makes the step longer, halves make it shorter") {
  const auto step_s = [](const Words& words) {
    const Run run = train_with(gpt, words);
    CAPTURE(run.result.output);
    REQUIRE(run.result.exit_code == 0);
    return 1 / run.log[3]["samples_per_s"].get<double>();
  };
  const double usual = step_s({"--ranks", "2"});
  CHECK(step_s({"--ranks", "2", "--slow", "1:3"}) > 2 * usual);
  CHECK(step_s({"--ranks", "2", "--dtype", "bfloat16"}) < usual);
}

TEST_CASE("train on sim: a slow rank is named, with the seconds that the others wait for it") {
  const Words way = GENERATE(Words{"--bucket-mb=0.1"}, Words{"--no-overlap"},
                             Words{"--horovod", "--cycle-time-ms=0"});
  const auto last_step = [&](Words words) {
    words.insert(words.end(), way.begin(), way.end());
    const Run run = train_with(gpt, words);
    CAPTURE(run.result.output);
    REQUIRE(run.result.exit_code == 0);
    return run;
  };
  const Run usual = last_step({"--ranks", "3"});
  CHECK_THAT(usual.result.output, !contains("lost waiting"));
  const Run slowed = last_step({"--ranks", "3", "--slow", "1:3"});
  CAPTURE(way, slowed.result.output);
  const std::string& output = slowed.result.output;
  const std::string name = "  lost waiting   ";
  REQUIRE_THAT(output, contains(name) && contains(" on all ranks together, for rank 1\n"));
  std::istringstream words(output.substr(output.find(name) + name.size()));
  const auto seconds = [&] {
    double number = 0;
    std::string unit;
    words >> number >> unit;
    return number * (unit == "s" ? 1 : unit == "ms" ? 1e-3 : 1e-6);
  };
  const double of_one = seconds();
  std::string skipped;
  std::getline(words, skipped, ',');
  CHECK(seconds() == Approx(2 * of_one).epsilon(0.01));  // two wait, equally long
  // The step takes longer by that, but for messages that now travel while the two wait.
  const auto step_s = [](const Run& run) { return 6 / run.log[3]["samples_per_s"].get<double>(); };
  const double longer_s = step_s(slowed) - step_s(usual);
  CHECK(of_one >= 0.99 * longer_s);
  CHECK(of_one < 1.3 * longer_s);
}

TEST_CASE("train on sim: a rank that is killed ends the run with its name") {
  const Run run = train_with(gpt, {"--ranks", "3", "--fault", "kill:1@1us"});
  CHECK(run.result.exit_code == 1);
  CHECK_THAT(run.result.output, contains("rank 1"));
}

TEST_CASE("train on sim: a stage that is killed at any moment of a step ends the run by name") {
  const Words pipeline{"--pp", "3", "--micro-batches", "8", "--batch-size", "8", "--steps", "3"};
  const Run whole = train_with(gpt, pipeline);
  CAPTURE(whole.result.output);
  REQUIRE(whole.result.exit_code == 0);
  const double first_s = whole.log[1]["seconds"], second_s = whole.log[2]["seconds"];
  REQUIRE(first_s < second_s);
  const std::string schedule = GENERATE("gpipe", "1f1b", "zero-bubble");
  for (const double part : {0.2, 0.5, 0.8}) {
    const double at_us = (first_s + part * (second_s - first_s)) * 1e6;
    Words words = pipeline;
    words.insert(words.end(), {"--schedule", schedule, "--fault",
                               "kill:1@" + std::to_string(std::llround(at_us)) + "us"});
    const Run run = train_with(gpt, words);
    CAPTURE(words.back(), run.result.output);
    CHECK(run.result.exit_code == 1);
    CHECK_THAT(run.result.output, contains("rank 1"));
  }
}

TEST_CASE("train on sim: the timeline of a run is a page") {
  const lockstep::test::Scratch scratch;
  Words words = gpt;
  words.insert(words.begin(), LOCKSTEP_TRAIN);
  words.insert(words.end(), {"--ranks", "2", "--trace", "ddp.html"});
  REQUIRE(run_command(words, scratch.path(), lockstep::test::patient).exit_code == 0);
  CHECK_THAT(read_text(scratch.path() / "ddp.html"), contains("all_reduce"));
}

TEST_CASE("train on sim: a model too large for the device is refused with its memory by kind") {
  const Run run =
      train_with({"--model", "gpt", "--layers", "96", "--width", "12288", "--heads", "96",
                  "--sequence", "2048"},
                 {"--sizes-only", "--backend", "sim", "--cluster", "h100", "--ranks", "2"});
  CHECK(run.result.exit_code == 1);
  CHECK_THAT(run.result.output, contains("out of memory: rank 0 asks its H100 SXM 80 GB for ") &&
                                    contains("\n  parameters ") && contains("\n  activations ") &&
                                    contains("sharded"));
}

TEST_CASE("train on sim: what makes no sense is a matter of usage") {
  const auto refused = [](const Words& words) {
    const Run run = train(words);
    CHECK(run.result.exit_code == 2);
    return run.result.output;
  };
  CHECK_THAT(refused({"--sizes-only"}), contains("--sizes-only belongs to --backend sim"));
  CHECK_THAT(refused({"--backend", "sim", "--dtype", "int8"}), contains("bfloat16"));
  CHECK_THAT(refused({"--backend", "sim", "--transport", "shm"}),
             contains("--transport belongs to --backend gloo"));
  CHECK_THAT(refused({"--backend", "sim", "--sizes-only", "--vocab", "300"}),
             contains("--vocab belongs to --model gpt"));
  CHECK_THAT(refused({"--slow", "0:2"}), contains("--slow belongs to --backend sim"));
  CHECK_THAT(refused({"--backend", "sim", "--sizes-only", "--data", "synthetic"}),
             contains("--data belongs to runs with numbers"));
  CHECK_THAT(
      refused({"--backend", "sim", "--ranks", "4", "--data", "synthetic", "--batch-size", "20000"}),
      contains("pass --batch-size 5000 or less"));
  CHECK_THAT(refused({"--micro-batches", "2"}), contains("--micro-batches belongs to --pp"));
  CHECK_THAT(refused({"--pp", "3", "--ranks", "4"}), contains("pass --ranks 6"));
  CHECK_THAT(refused({"--pp", "2", "--dp", "3", "--ranks", "4"}), contains("make 2 pipelines"));
  CHECK_THAT(refused({"--pp", "2", "--batch-size", "9", "--micro-batches", "2"}),
             contains("pass --batch-size 10"));
  CHECK_THAT(refused({"--pp", "2", "--join", "live"}), contains("does not combine with --pp"));
  CHECK_THAT(refused({"--pp", "9"}), contains("fewer stages (--pp)"));
  CHECK_THAT(
      refused({"--model", "gpt", "--layers", "48", "--width", "6144", "--heads", "48", "--sequence",
               "2048", "--sizes-only", "--backend", "sim", "--cluster", "h100", "--pp", "2"}),
      contains("stage 0 needs") && contains("stage 1 needs") && contains(" are missing"));
  CHECK_THAT(refused({"--modelled-compute", "--backend", "sim"}),
             contains("--modelled-compute belongs to --backend gloo"));
}
