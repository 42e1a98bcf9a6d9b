// train --compress, as a person runs it: on simulated ranks and on processes, and what it says when
// it cannot be.
#include <nlohmann/json.hpp>
#include <sstream>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;

namespace {

using Words = std::vector<std::string>;

struct Trained {
  CommandResult result;
  std::vector<nlohmann::json> log;
  nlohmann::json step(std::size_t number) const { return log.at(number); }
};

const Words common{"--data", "synthetic", "--steps", "30", "--batch-size", "32"};

Trained train_in(const std::filesystem::path& folder, const Words& own) {
  // One thread, as each of several processes has: products of thin matrices depend on the number.
  Words words{"env", "OMP_NUM_THREADS=1", LOCKSTEP_TRAIN};
  words.insert(words.end(), common.begin(), common.end());
  words.insert(words.end(), own.begin(), own.end());
  words.insert(words.end(), {"--log", "log.jsonl"});
  Trained run{run_command(words, folder, lockstep::test::patient), {}};
  if (run.result.exit_code != 0) return run;
  std::istringstream lines(read_text(folder / "log.jsonl"));
  for (std::string line; std::getline(lines, line);) run.log.push_back(nlohmann::json::parse(line));
  return run;
}

Trained train_with(const Words& own) {
  const lockstep::test::Scratch scratch;
  return train_in(scratch.path(), own);
}

// Every loss, and the parameters at the end, as they are written: all digits.
std::string digits_of(const Trained& run) {
  std::string all;
  for (const nlohmann::json& line : run.log) {
    for (const char* field : {"loss", "test_loss", "parameters_hash"}) {
      if (line.contains(field)) all += line[field].dump() + "\n";
    }
  }
  return all;
}

}  // namespace

TEST_CASE("train --compress: processes have the bits of simulated ranks, and losses fall") {
  const std::string words =
      GENERATE("fp16", "bf16", "int8", "topk:0.1", "randomk:0.5", "powersgd:2");
  const Words way = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "gloo"},
                             Words{"--all-reduce", "ring"});
  Words processes{"--ranks", "3", "--compress", words, "--bucket-mb", "0.1"};
  Words simulated = processes;
  simulated.insert(simulated.end(), {"--backend", "sim", "--all-reduce", "ring"});
  processes.insert(processes.end(), way.begin(), way.end());
  const Trained real = train_with(processes);
  CAPTURE(words, real.result.output);
  REQUIRE(real.result.exit_code == 0);
  CHECK_THAT(real.result.output, contains("the 3 replicas are equal bit for bit"));
  CHECK(real.log.front()["compression"] == words);
  CHECK(real.step(30)["loss"] < 0.9 * real.step(1)["loss"].get<double>());
  if (way[0] == "--transport") return;
  const Trained sim = train_with(simulated);
  REQUIRE(sim.result.exit_code == 0);
  CHECK(digits_of(sim) == digits_of(real));
}

TEST_CASE("train --compress: the log says what travels, and how many bytes") {
  const auto steady = [](const Words& own) {
    Words words{"--ranks", "2", "--backend", "sim"};
    words.insert(words.end(), own.begin(), own.end());
    const Trained run = train_with(words);
    REQUIRE(run.result.exit_code == 0);
    return run.step(4)["bytes_sent"].get<double>();
  };
  const double dense = steady({});
  CHECK(steady({"--compress", "none"}) == dense);
  CHECK(steady({"--compress", "fp16"}) / dense == test::Approx(0.5).epsilon(0.001));
  CHECK(steady({"--compress", "int8"}) / dense == test::Approx(0.254).epsilon(0.001));
  CHECK(steady({"--compress", "topk:0.01"}) / dense == test::Approx(0.02).epsilon(0.02));
  CHECK(steady({"--compress", "randomk:0.01"}) / dense == test::Approx(0.01).epsilon(0.02));
  CHECK(steady({"--compress", "powersgd:1"}) / dense < 0.05);
  CHECK(train_with({"--ranks", "1"}).log.front()["compression"] == "none");
}

TEST_CASE("train --compress: --no-error-feedback trains otherwise, and the log says so") {
  for (const std::string words : {"topk:0.05", "powersgd:1"}) {
    CAPTURE(words);
    Words typed{"--ranks", "2", "--backend", "sim", "--compress", words};
    const Trained kept = train_with(typed);
    typed.emplace_back("--no-error-feedback");
    const Trained forgot = train_with(typed);
    REQUIRE(forgot.result.exit_code == 0);
    CHECK(forgot.log.front()["compression"] == words + " without error feedback");
    CHECK(forgot.step(30)["loss"] != kept.step(30)["loss"]);
    CHECK(forgot.step(30)["bytes_sent"] == kept.step(30)["bytes_sent"]);
  }
}

TEST_CASE("train --compress: what cannot be is refused in one sentence, before anything runs") {
  const auto error_of = [](const Words& own) {
    const Trained run = train_with(own);
    CHECK(run.result.exit_code == 2);
    return run.result.output;
  };
  CHECK_THAT(error_of({"--compress", "gzip"}), contains("--compress gzip does not exist; choose"));
  CHECK_THAT(error_of({"--compress", "topk:2"}), contains("above 0 and up to 1"));
  CHECK_THAT(error_of({"--compress", "randomk:nan"}), contains("above 0 and up to 1"));
  CHECK_THAT(error_of({"--compress", "powersgd:0"}), contains("from 1 to 65536"));
  CHECK_THAT(error_of({"--compress", "fp16", "--no-overlap"}), contains("needs DDP"));
  for (const Words& without :
       {Words{}, Words{"--compress", "int8"}, Words{"--compress", "randomk:0.1"}}) {
    Words words{"--no-error-feedback"};
    words.insert(words.end(), without.begin(), without.end());
    CHECK_THAT(error_of(words),
               contains("--no-error-feedback belongs to --compress topk:F and powersgd:R"));
  }
  CHECK_THAT(error_of({"--compress", "fp16", "--dtype", "bfloat16"}),
             contains("needs gradients of float32 or float64"));
}

TEST_CASE("train --compress: one rank trains as without, and accumulated steps are compressed") {
  const Trained alone = train_with({"--ranks", "1", "--compress", "topk:0.1"});
  CHECK(digits_of(alone) == digits_of(train_with({"--ranks", "1"})));
  const Words two{"--ranks", "2", "--backend", "sim", "--accumulate", "2", "--find-unused"};
  Words compressed = two;
  compressed.insert(compressed.end(), {"--compress", "powersgd:2"});
  const Trained run = train_with(compressed);
  CAPTURE(run.result.output);
  REQUIRE(run.result.exit_code == 0);
  CHECK_THAT(run.result.output, contains("the 2 replicas are equal bit for bit"));
  CHECK(run.step(4)["bytes_sent"] < train_with(two).step(4)["bytes_sent"]);
}

TEST_CASE("train --compress: sizes alone say what a slow network gains") {
  const Words gpt{
      "--model", "gpt",       "--sizes-only", "--layers", "2",       "--width",   "512",
      "--heads", "8",         "--sequence",   "128",      "--vocab", "512",       "--batch-size",
      "2",       "--backend", "sim",          "--ranks",  "8",       "--cluster", "ethernet"};
  const auto run = [&](const Words& own) {
    const lockstep::test::Scratch scratch;
    Words words{LOCKSTEP_TRAIN};
    words.insert(words.end(), gpt.begin(), gpt.end());
    words.insert(words.end(), own.begin(), own.end());
    words.insert(words.end(), {"--log", "log.jsonl"});
    const CommandResult result = run_command(words, scratch.path(), lockstep::test::patient);
    CAPTURE(result.output);
    REQUIRE(result.exit_code == 0);
    std::istringstream lines(read_text(scratch.path() / "log.jsonl"));
    std::vector<nlohmann::json> log;
    for (std::string line; std::getline(lines, line);) log.push_back(nlohmann::json::parse(line));
    return log.at(3);
  };
  const nlohmann::json dense = run({}), half = run({"--compress", "fp16"});
  const double ratio = half["bytes_sent"].get<double>() / dense["bytes_sent"].get<double>();
  CHECK(ratio == test::Approx(0.5).epsilon(0.01));
  CHECK(half["communication_s"] < 0.7 * dense["communication_s"].get<double>());
  for (const char* words : {"int8", "topk:0.01", "randomk:0.01", "powersgd:1"}) {
    const nlohmann::json step = run({"--compress", words});
    CHECK(step["bytes_sent"] < 0.3 * dense["bytes_sent"].get<double>());
    CHECK(step["exposed_s"] < dense["exposed_s"]);
  }
}

TEST_CASE("train --compress: a resumed run says that what was left out is lost") {
  const lockstep::test::Scratch scratch;
  const auto run = [&](const std::string& words, const Words& own) {
    Words all{"--ranks", "2", "--backend", "sim", "--compress", words, "--checkpoint", "saved"};
    all.insert(all.end(), own.begin(), own.end());
    return train_in(scratch.path(), all).result;
  };
  REQUIRE(run("topk:0.1", {}).exit_code == 0);
  Words more{LOCKSTEP_TRAIN, "--data",   "synthetic",  "--batch-size", "32",  "--steps",
             "40",           "--ranks",  "2",          "--backend",    "sim", "--checkpoint",
             "saved",        "--resume", "--compress", "topk:0.1"};
  const CommandResult resumed = run_command(more, scratch.path(), lockstep::test::patient);
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.output, contains("--compress topk:0.1 had left out") &&
                                 contains("no checkpoint has it") &&
                                 contains("the 2 replicas are equal bit for bit"));
  more.back() = "fp16";
  more[6] = "44";
  const CommandResult stateless = run_command(more, scratch.path(), lockstep::test::patient);
  CHECK(stateless.exit_code == 0);
  CHECK_THAT(stateless.output, !contains("left out"));
}

TEST_CASE("train --trace: a run on processes has the losses of one that is not traced") {
  const std::string words = GENERATE("none", "fp16");
  const Words run{"--ranks", "2", "--compress", words};
  Words traced = run;
  traced.insert(traced.end(), {"--trace", "ddp.html"});
  const Trained without = train_with(run), with = train_with(traced);
  REQUIRE(without.result.exit_code == 0);
  REQUIRE(with.result.exit_code == 0);
  CHECK(digits_of(with) == digits_of(without));
}
