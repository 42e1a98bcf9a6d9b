// What a person and a program read of a run.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/train/json_log.hpp"
#include "engine/train/progress.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

const train::StepReport first_step{1, 40, 1, 2.25, 100'000, 0.5, 4096};
const train::EpochReport equal_epoch{1, 0.5, 0.25, 0.875, {{255, 255, 255}}, 1.5};
const train::EpochReport unequal_epoch{1, 0.5, 0.25, 0.875, {{255, 255, 254}, 2}, 1.5};

}  // namespace

TEST_CASE("log: four events, one JSON object a line, with the documented fields") {
  std::string folder = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/log.jsonl";
  {
    train::JsonLog log(path, {.model = "mlp",
                              .backend = "gloo",
                              .device = "cpu",
                              .options = "--zero 2 --masters",
                              .parameters = 10,
                              .ranks = 4,
                              .shares = 4,
                              .batch_size = 32,
                              .steps = 40,
                              .seed = 7,
                              .data_hash = 0xfe});
    log.on_step(first_step);
    log.on_epoch(equal_epoch);
    log.on_end({2.5, 90'000, 0.875, true});
    log.on_step({1, 40, 1, 2.25, 100'000, 0.5, 4096, {0.5, 0.125}});
    train::StepReport simulated = first_step;
    simulated.wall_seconds = 7;
    simulated.loss = std::numeric_limits<double>::quiet_NaN();
    simulated.host = HostCopies{{5, 6}, 0.5, 0.25};
    log.on_step(simulated);
  }
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  std::filesystem::remove_all(folder);

  REQUIRE(lines.size() == 6);
  CHECK(lines[0]["event"] == "start");
  CHECK(lines[0]["model"] == "mlp");
  CHECK(lines[0]["parameters"] == 10);
  CHECK(lines[0]["ranks"] == 4);
  CHECK(lines[0]["backend"] == "gloo");
  CHECK(lines[0]["device"] == "cpu");
  CHECK(lines[0]["options"] == "--zero 2 --masters");
  CHECK(lines[0]["batch_size"] == 32);
  CHECK(lines[0]["global_batch"] == 128);
  CHECK(lines[0]["seed"] == 7);
  CHECK(lines[0]["data_hash"] == "00000000000000fe");
  const nlohmann::json step = {{"event", "step"},           {"step", 1},      {"loss", 2.25},
                               {"samples_per_s", 100000.0}, {"seconds", 0.5}, {"bytes_sent", 4096}};
  CHECK(lines[1] == step);
  CHECK(lines[2]["event"] == "epoch");
  CHECK(lines[2]["epoch"] == 1);
  CHECK(lines[2]["train_loss"] == 0.5);
  CHECK(lines[2]["test_loss"] == 0.25);
  CHECK(lines[2]["test_accuracy"] == 0.875);
  CHECK(lines[2]["parameters_hash"] ==
        nlohmann::json::array({"00000000000000ff", "00000000000000ff", "00000000000000ff"}));
  const nlohmann::json end = {{"event", "end"},
                              {"seconds", 2.5},
                              {"samples_per_s", 90000.0},
                              {"test_accuracy", 0.875},
                              {"replicas_equal", true}};
  CHECK(lines[3] == end);
  nlohmann::json measured = step;
  measured.update({{"communication_s", 0.5}, {"exposed_s", 0.125}, {"hidden", 0.75}});
  CHECK(lines[4] == measured);
  nlohmann::json virtual_time = step;
  virtual_time.update({{"wall_seconds", 7.0}, {"loss", nullptr}});
  virtual_time.update({{"host_bytes_down", 5}, {"host_bytes_up", 6}});
  virtual_time.update({{"host_copies_s", 0.5}, {"host_copies_exposed_s", 0.25}});
  CHECK(lines[5] == virtual_time);
}

TEST_CASE("log: a file that cannot be written is refused before training begins") {
  CHECK_THROWS_AS(train::JsonLog("/nowhere/at/all/log.jsonl", {}), UsageError);
  CHECK_THROWS_WITH(train::JsonLog("/nowhere/at/all/log.jsonl", {}),
                    contains("/nowhere/at/all/log.jsonl") && contains("--log"));
}

TEST_CASE("progress: on plain paper whole lines only, and not one a step") {
  std::ostringstream out;
  train::Progress progress(out, train::Output::plain);
  for (int k = 1; k <= 40; ++k) progress.on_step({k, 40, 1, 2.25, 100'000, 0.25 * k, 0});
  CHECK(out.str() ==
        "step 20/40  smoothed loss 2.2500  100,000 samples/s\nstep 40/40  smoothed loss 2.2500  "
        "100,000 samples/s\n");
  out.str("");
  progress.on_epoch(equal_epoch);
  CHECK(out.str() ==
        "epoch 1: train loss 0.5000, test loss 0.2500, test accuracy 87.50 %; "
        "the 3 replicas are equal bit for bit\n");
  out.str("");
  progress.on_end({2.5, 1'234'567, 0.875, true});
  CHECK(out.str() == "trained in 2.5 s, 1,234,567 samples/s, test accuracy 87.50 %\n");
}

TEST_CASE("progress: a loss that is smoothed over recent steps is called so") {
  std::ostringstream out;
  train::Progress progress(out, train::Output::plain);
  progress.on_step({1, 2, 1, 4, 100'000, 1, 0});
  progress.on_step({2, 2, 1, 2, 100'000, 6, 0});
  CHECK(out.str() == "step 2/2  smoothed loss 3.9000  100,000 samples/s\n");
}

TEST_CASE("progress: of virtual time it says so, and the pace is the machine's") {
  std::ostringstream out;
  train::Progress progress(out, train::Output::plain);
  for (int k = 1; k <= 40; ++k) {
    progress.on_step({k, 40, 1, 2.25, 100'000, 100.0 * k, 0, {}, 0.25 * k});
  }
  CHECK(out.str() ==
        "step 20/40  smoothed loss 2.2500  100,000 samples/s\nstep 40/40  smoothed loss 2.2500  "
        "100,000 samples/s\n");
  out.str("");
  const double none = std::numeric_limits<double>::quiet_NaN();
  progress.on_end({0.0025, 1'234'567, none, true, {}, 2.5});
  CHECK(out.str() == "trained in 2.5 ms of virtual time (2.5 s here), 1,234,567 samples/s\n");
}

TEST_CASE("progress: a terminal gets a bar that is redrawn in place") {
  std::ostringstream out;
  train::Progress progress(out, train::Output::terminal);
  progress.on_step({20, 40, 1, 2.25, 100'000, 0.5, 0});
  CHECK(out.str() ==
        "\r\x1b[K[########........] step 20/40  smoothed loss 2.2500  100,000 samples/s");
  out.str("");
  progress.on_step({21, 40, 1, 2.25, 100'000, 0.55, 0});
  CHECK(out.str().empty());
}

TEST_CASE("progress: replicas that differ are named loudly, one replica is no comparison") {
  std::ostringstream out;
  train::Progress progress(out, train::Output::plain);
  progress.on_epoch(unequal_epoch);
  CHECK_THAT(out.str(), contains("THE REPLICAS DIFFER: rank 2"));
  out.str("");
  progress.on_epoch({1, 0.5, 0.25, 0.875, {{255}}, 1.5});
  CHECK_THAT(out.str(), contains("one replica\n"));
}
