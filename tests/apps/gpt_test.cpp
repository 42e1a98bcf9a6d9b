// A small language model from text to text: trained, stopped, gone on with, and read.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/checkpoint/safetensors.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;

namespace {

struct Apps {
  Apps() {
    std::string text;
    for (int line = 0; line < 60; ++line) text += "the ring turns, and turns\n";
    write_text(scratch.path() / "ring.txt", text);
  }

  CommandResult run(const std::string& program, std::vector<std::string> words) const {
    words.insert(words.begin(), program);
    return run_command(words, scratch.path(), lockstep::test::patient);
  }
  CommandResult train(std::vector<std::string> more) const {
    std::vector<std::string> words{"--model",       "gpt",     "--data",     "text:ring.txt",
                                   "--layers",      "1",       "--width",    "16",
                                   "--heads",       "2",       "--sequence", "16",
                                   "--batch-size",  "4",       "--lr",       "0.01",
                                   "--lr-schedule", "constant"};
    words.insert(words.end(), more.begin(), more.end());
    return run(LOCKSTEP_TRAIN, words);
  }
  CommandResult generate(std::vector<std::string> words) const {
    return run(LOCKSTEP_GENERATE, std::move(words));
  }
  std::string file(const std::string& name) const { return read_text(scratch.path() / name); }

  lockstep::test::Scratch scratch;
};

// The largest difference of two files' weights, relative to the largest weight of its tensor.
double apart(const Apps& apps, const std::string& one, const std::string& other) {
  const checkpoint::SafetensorsFile first(apps.scratch.path() / one);
  const checkpoint::SafetensorsFile second(apps.scratch.path() / other);
  REQUIRE(first.tensors().size() == second.tensors().size());
  CpuDevice device;
  double worst = 0;
  for (const checkpoint::TensorEntry& entry : first.tensors()) {
    CAPTURE(entry.name);
    const checkpoint::TensorEntry* same = second.find(entry.name);
    REQUIRE(same != nullptr);
    const Tensor a = first.load(entry, device), b = second.load(*same, device);
    REQUIRE(a.shape() == b.shape());
    double largest = 0, difference = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      largest = std::max(largest, std::abs(a.item(i)));
      difference = std::max(difference, std::abs(a.item(i) - b.item(i)));
    }
    worst = std::max(worst, difference / std::max(largest, 1e-300));
  }
  return worst;
}

}  // namespace

TEST_CASE("train gpt: stopped and gone on with, it ends with the weights of the whole run") {
  const Apps apps;
  const std::vector<std::string> habits{"--dropout", "0.2", "--workers", "2", "--seed", "3"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), habits.begin(), habits.end());
    return words;
  };
  const auto whole = apps.train(with({"--steps", "12", "--export", "whole.safetensors"}));
  CAPTURE(whole.output);
  REQUIRE(whole.exit_code == 0);
  REQUIRE(
      apps.train(with({"--steps", "7", "--checkpoint", "run", "--log", "run.jsonl"})).exit_code ==
      0);
  const auto fresh = apps.train(with({"--steps", "7", "--checkpoint", "run"}));
  CHECK(fresh.exit_code == 2);
  CHECK_THAT(fresh.output, contains("step_000007 belongs to an earlier run"));
  const auto rest = apps.train(with({"--steps", "12", "--checkpoint", "run", "--resume", "--export",
                                     "rest.safetensors", "--log", "run.jsonl"}));
  CAPTURE(rest.output);
  REQUIRE(rest.exit_code == 0);
  CHECK((apps.file("rest.safetensors") == apps.file("whole.safetensors")));

  CHECK_THAT(apps.file("run.jsonl"), contains("\"step\":1,") && contains("\"step\":12,"));

  const auto again = apps.train(with({"--steps", "12", "--checkpoint", "run", "--resume"}));
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.output, contains("has already taken 12 steps"));
  const auto other =
      apps.train({"--steps", "14", "--checkpoint", "run", "--resume", "--dropout", "0.2"});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.output, contains("has --seed 3, but this one has 0"));
  const auto wider =
      apps.train(with({"--steps", "14", "--checkpoint", "run", "--resume", "--batch-size", "5"}));
  CHECK(wider.exit_code == 0);
  const auto sharper =
      apps.train(with({"--steps", "14", "--checkpoint", "run", "--resume", "--heads", "4"}));
  CHECK_THAT(sharper.output, contains("has heads 2, but this one has 4"));
  CHECK_THAT(wider.output, contains("continues at step 12: 48 of the ") &&
                               contains("a global batch has 5 samples now, 4 before"));
  CHECK_THAT(rest.output, contains("continues at step 7: 28 of the ") && !contains("samples now"));
}

TEST_CASE("train gpt: saved by two stages, it is read by generate and goes on with any number") {
  const Apps apps;
  const std::vector<std::string> pipeline{"--pp", "2", "--micro-batches", "2"};
  const auto train = [&](const std::vector<std::string>& how, std::vector<std::string> words) {
    words.insert(words.end(), {"--layers", "3", "--dtype", "float64"});
    words.insert(words.end(), how.begin(), how.end());
    const auto result = apps.train(words);
    CAPTURE(result.output);
    REQUIRE(result.exit_code == 0);
    return result.output;
  };
  train({}, {"--steps", "9", "--export", "whole.safetensors"});
  CHECK_THAT(train(pipeline, {"--steps", "5", "--checkpoint", "run"}),
             contains("3 layers do not make 2 equal parts"));
  const auto text = apps.generate({"--checkpoint", "run", "--prompt", "the", "--tokens", "8"});
  CAPTURE(text.output);
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.output, contains("the"));
  std::filesystem::copy(apps.scratch.path() / "run", apps.scratch.path() / "again",
                        std::filesystem::copy_options::recursive);
  const auto rest =
      train({}, {"--steps", "9", "--checkpoint", "run", "--resume", "--export", "one.safetensors"});
  CHECK_THAT(rest, contains("continues at step 5: 20 of the "));
  std::vector<std::string> interleaved = pipeline;
  interleaved.insert(interleaved.end(), {"--schedule", "interleaved", "--chunks", "2"});
  train(interleaved,
        {"--steps", "9", "--checkpoint", "again", "--resume", "--export", "two.safetensors"});
  // Nine updates that each round anew, in float64.
  CHECK(apart(apps, "one.safetensors", "whole.safetensors") <= 1e-9);
  CHECK(apart(apps, "two.safetensors", "whole.safetensors") <= 1e-9);
}

TEST_CASE(
    "train gpt: ranks share its layers, and one rank has their weights and goes on with them") {
  const Apps apps;
  const auto train = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--dtype", "float64", "--clip", "0.5"});
    const auto result = apps.train(words);
    CAPTURE(result.output);
    REQUIRE(result.exit_code == 0);
    return result.output;
  };
  train({"--steps", "9", "--export", "whole.safetensors"});
  train({"--steps", "9", "--tp", "2", "--export", "shared.safetensors"});
  train({"--steps", "5", "--tp", "2", "--sp", "--checkpoint", "run"});
  CHECK_THAT(
      train({"--steps", "9", "--checkpoint", "run", "--resume", "--export", "rest.safetensors"}),
      contains("continues at step 5: 20 of the "));
  CHECK(apart(apps, "shared.safetensors", "whole.safetensors") <= 1e-9);
  CHECK(apart(apps, "rest.safetensors", "whole.safetensors") <= 1e-9);
}

TEST_CASE("train gpt: the log tells the hash of its text, which another text changes") {
  const Apps apps;
  const auto hash = [&] {
    REQUIRE(apps.train({"--steps", "1", "--log", "run.jsonl"}).exit_code == 0);
    const std::string log = apps.file("run.jsonl");
    return nlohmann::json::parse(log.substr(0, log.find('\n'))).at("data_hash");
  };
  const auto first = hash();
  CHECK(hash() == first);
  write_text(apps.scratch.path() / "ring.txt", apps.file("ring.txt") + "and stops\n");
  CHECK(hash() != first);
}

TEST_CASE("train gpt: a place beyond the data is a matter of the file that says it") {
  const Apps apps;
  REQUIRE(apps.train({"--steps", "7", "--checkpoint", "run"}).exit_code == 0);
  const std::string file = "run/step_000007/index.json";
  std::string state = apps.file(file);
  const auto taken = state.find("28");
  REQUIRE(taken != std::string::npos);
  write_text(apps.scratch.path() / file, state.replace(taken, 2, "99999"));
  const auto rest = apps.train({"--steps", "9", "--checkpoint", "run", "--resume"});
  CHECK(rest.exit_code == 2);
  CHECK_THAT(rest.output, contains(file + " says that 99999 samples of epoch 1 are taken"));
}

TEST_CASE("train gpt, then generate: the text it saw comes back, the same for the same seed") {
  const Apps apps;
  const auto trained = apps.train({"--steps", "120", "--tokenizer", "bpe", "--vocab", "270",
                                   "--checkpoint", "run", "--log", "run.jsonl"});
  CAPTURE(trained.output);
  REQUIRE(trained.exit_code == 0);
  CHECK_THAT(apps.file("run.jsonl"), contains("\"model\":\"gpt\""));
  const std::vector<std::string> ask{"--checkpoint", "run", "--prompt",      "the ring",
                                     "--tokens",     "12",  "--temperature", "0"};
  const auto text = apps.generate(ask);
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.output, contains("the ring turns, and turns"));
  CHECK(apps.generate(ask).output == text.output);
  // Two ranks that compute each layer together have the same logits, but for rounding.
  auto on_two = ask;
  on_two.insert(on_two.end(), {"--tp", "2"});
  const auto together = apps.generate(on_two);
  CHECK(together.exit_code == 0);
  CHECK(together.output == text.output);
  on_two.back() = "3";
  CHECK_THAT(apps.generate(on_two).output, contains("--tp 3 does not divide the 2 heads"));

  CHECK(apps.generate({"--prompt", "x"}).exit_code == 2);
  const auto nowhere = apps.generate({"--checkpoint", "nowhere"});
  CHECK(nowhere.exit_code == 2);
  CHECK_THAT(nowhere.output, contains("there is no checkpoint in 'nowhere'"));
}

TEST_CASE("train gpt: what cannot be is one sentence and exit code 2") {
  const Apps apps;
  const auto refused = [&](std::vector<std::string> words, const std::string& says) {
    const auto result = apps.train(std::move(words));
    CAPTURE(says);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, contains(says));
    CHECK(std::count(result.output.begin(), result.output.end(), '\n') == 1);
  };
  refused({"--heads", "3"}, "--heads 3 must divide --width 16");
  refused({"--data", "fashion-mnist"}, "reads text");
  refused({"--data", "lesons"}, "did you mean lessons?");
  refused({"--data", "text:gone.txt"}, "gone.txt");
  refused({"--vocab", "300"}, "--tokenizer bpe");
  refused({"--dropout", "1"}, "--dropout 1");
  refused({"--momentum", "0.5"}, "--optimizer sgd");
  refused({"--resume"}, "--checkpoint FOLDER");
  refused({"--resume", "--checkpoint", "empty"}, "there is no checkpoint in 'empty'");
  refused({"--sequence", "2000"}, "pass a smaller --sequence");
  refused({"--export", "gone/a.safetensors"}, "does not exist");
  refused({"--checkpoint="}, "--checkpoint is empty");
  refused({"--resume", "--init", "a", "--checkpoint", "b"}, "pass only one");
  refused({"--workers", "4294967297"}, "pass at most 64");
  refused({"--width", "4611686018427387904"}, "more than 65,536");
  const auto mlp = apps.run(LOCKSTEP_TRAIN, {"--data", "synthetic", "--layers", "3"});
  CHECK(mlp.exit_code == 2);
  CHECK_THAT(mlp.output, contains("--layers belongs to --model gpt"));
}

TEST_CASE("train: --stride says how many tokens lie between the starts of two samples") {
  const Apps apps;
  const auto steps_with = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--epochs", "1"});
    const std::string output = apps.train(more).output;
    const std::size_t end = output.find(" steps, ");
    REQUIRE(end != std::string::npos);
    return std::stoi(output.substr(output.rfind(' ', end - 1) + 1));
  };
  const int usual = steps_with({});  // a sixteenth of --sequence
  CHECK(usual == steps_with({"--stride", "1"}));
  const int apart_by_eight = steps_with({"--stride", "8"});
  CHECK(std::abs(usual - 8 * apart_by_eight) <= 8);
}
