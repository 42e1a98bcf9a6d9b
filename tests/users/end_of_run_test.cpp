// What follows the last step, for every way to train: a file that is asked for is there and whole,
// and the run ends.
#include "tests/catch.hpp"
#include "tests/users/program.hpp"

using namespace lockstep::test;

namespace {

struct TrainingWay {
  std::string name;
  Words words;
};

const std::vector<TrainingWay>& ways() {
  static const std::vector<TrainingWay> all{
      {"one rank", {}},
      {"DDP", {"--ranks", "2"}},
      {"the plain reduction", {"--ranks", "2", "--no-overlap"}},
      {"compression", {"--ranks", "2", "--compress", "fp16"}},
      {"Horovod", {"--ranks", "2", "--horovod"}},
      {"servers", {"--ranks", "2", "--async"}},
      {"servers in step", {"--ranks", "2", "--async", "--staleness", "0"}},
      {"one server of three ranks", {"--ranks", "3", "--async", "--servers", "1"}},
      {"one rank and its server", {"--async"}},
      {"a pipeline", {"--pp", "2", "--micro-batches", "2"}},
      {"simulated DDP", {"--backend", "sim", "--ranks", "2"}},
      {"simulated servers", {"--backend", "sim", "--ranks", "2", "--async"}},
      {"a simulated pipeline", {"--backend", "sim", "--pp", "2", "--micro-batches", "2"}},
  };
  return all;
}

struct End {
  Words words;
  std::string file;  // that it writes
};

const std::vector<End>& ends() {
  static const std::vector<End> all{
      {{}, ""},
      {{"--export", "weights.safetensors"}, "weights.safetensors"},
      {{"--trace", "run.html"}, "run.html"},
      {{"--log", "run.jsonl"}, "run.jsonl"},
      {{"--checkpoint", "run"}, "run/step_000002/model.safetensors"},
  };
  return all;
}

CommandResult train(const Place& place, const Words& words) {
  // Of an option that stands there twice, the last one counts.
  return place.run(Words{"train", "--data", "synthetic", "--steps", "2"} + words);
}

// What makes no timeline says so before it trains.
bool draws(const TrainingWay& way) {
  return std::ranges::find(way.words, "--async") == way.words.end() ||
         std::ranges::find(way.words, "sim") != way.words.end();
}

}  // namespace

TEST_CASE("the end of a run: every option of it, with every way to train") {
  for (const TrainingWay& way : ways()) {
    for (const End& end : ends()) {
      const Place place;
      const auto ran = train(place, way.words + end.words);
      CAPTURE(way.name, line_of(end.words), ran.output);
      if (end.file == "run.html" && !draws(way)) {
        CHECK(ran.exit_code == 2);
        CHECK_THAT(ran.output, contains("--trace puts the timelines") && contains("--backend sim"));
        continue;
      }
      CHECK(ran.exit_code == 0);
      CHECK_FALSE(ran.timed_out);
      CHECK_THAT(ran.output, contains("peak memory:"));
      CHECK((end.file.empty() || place.has(end.file)));
    }
  }
}

TEST_CASE(
    "the end of a run: all that it writes at once, and the export is the checkpoint's model") {
  for (const TrainingWay& way : ways()) {
    const Place place;
    Words words = way.words;
    for (const End& end : ends()) {
      if (end.file != "run.html" || draws(way)) words = words + end.words;
    }
    const auto ran = train(place, words + Words{"--save-every", "1", "--save-async"});
    CAPTURE(way.name, ran.output);
    REQUIRE(ran.exit_code == 0);
    CHECK((place.file("weights.safetensors") == place.file("run/step_000002/model.safetensors")));
    CHECK_THAT(place.file("run.jsonl"), contains("\"event\":\"end\""));
  }
}

TEST_CASE("the end of a run: a finished run can still be exported, by every way to train") {
  for (const TrainingWay& way : ways()) {
    const Place place;
    REQUIRE(train(place, way.words + Words{"--checkpoint", "run"}).exit_code == 0);
    const auto ran = train(
        place, way.words + Words{"--checkpoint", "run", "--resume", "--export", "w.safetensors"});
    CAPTURE(way.name, ran.output);
    REQUIRE(ran.exit_code == 0);
    CHECK_THAT(ran.output, contains("2 steps before; nothing is trained"));
    CHECK((place.file("w.safetensors") == place.file("run/step_000002/model.safetensors")));
    const auto again = train(place, way.words + Words{"--checkpoint", "run", "--resume"});
    CHECK(again.exit_code != 0);
    CHECK_THAT(again.output, contains("--export FILE to write its weights"));
    const auto over = train(place, way.words + Words{"--checkpoint", "run", "--resume", "auto"});
    CAPTURE(over.output);
    CHECK(over.exit_code == 0);
    CHECK_THAT(over.output, contains("taken its 2 steps before; nothing is trained"));
  }
}

TEST_CASE("the end of a run: what the last update has made unusable is not kept, in any way") {
  for (const TrainingWay& way : ways()) {
    for (const std::string save : {"dense", "sharded"}) {
      const bool servers = std::ranges::find(way.words, "--async") != way.words.end();
      if (servers && save == "sharded") continue;  // refused
      const Place place;
      const auto ran =
          train(place, way.words + Words{"--steps", "1", "--lr", "1e30", "--checkpoint", "run",
                                         "--save", save, "--export", "weights.safetensors"});
      CAPTURE(way.name, save, ran.output);
      CHECK(ran.exit_code == 1);
      CHECK_THAT(ran.output,
                 contains("after step 1, ") && contains("at a learning rate of 1e+30") &&
                     contains("It is not saved, and there is no checkpoint from before") &&
                     !contains("-nan") && !contains("equal bit for bit"));
      CHECK_FALSE(place.has("weights.safetensors"));
      CHECK_FALSE(fs::exists(place.path() / "run/step_000001"));
    }
  }
}

TEST_CASE("the end of a run: the checkpoint from before is named, and is all that is there") {
  for (const Words& how : {Words{}, Words{"--save-async"}, Words{"--save", "sharded"}}) {
    const Place place;
    const Words kept = Words{"--ranks", "2", "--checkpoint", "run"} + how;
    REQUIRE(train(place, kept).exit_code == 0);
    const auto ran = train(place, kept + Words{"--resume", "--steps", "3", "--lr", "1e30"});
    CAPTURE(line_of(how), ran.output);
    CHECK(ran.exit_code == 1);
    CHECK_THAT(ran.output, contains("after step 3, ") &&
                               contains("run/step_000002 is from before, and --resume continues"));
    CHECK_FALSE(fs::exists(place.path() / "run/step_000003"));
    CHECK(train(place, kept + Words{"--resume", "--steps", "3"}).exit_code == 0);
  }
}
