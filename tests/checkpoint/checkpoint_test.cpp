#include "engine/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "engine/base/random.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/weights.hpp"
#include "engine/nn/mlp.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"
#include "tests/checkpoint/full_disk.hpp"
#include "tests/checkpoint/small_run.hpp"

using namespace lockstep;
using checkpoint::CheckpointError;
using checkpoint::checkpoints_in;
using checkpoint::latest_in;
using checkpoint::TrainState;
using lockstep::test::contains;
using lockstep::test::content_of;
using lockstep::test::files_in;
using lockstep::test::Folder;
using lockstep::test::put;
using namespace lockstep::test;

TEST_CASE("resume: five steps, saved and loaded, and five more are ten steps, bit for bit") {
  for (const auto& [name, make] : optimizers) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      CAPTURE(name, name_of(dtype));
      const Folder folder;
      Run straight(make, {6, 8, 3}, dtype);
      const auto want = straight.train(1, 10);
      {
        Run first(make, {6, 8, 3}, dtype);
        first.train(1, 5);
        checkpoint::save(folder.path(), *first.model, *first.optimizer, {.step = 5});
      }
      Run second(make, {6, 8, 3}, dtype);
      second.train(70, 72);  // whatever was there before is gone with the load
      const TrainState state =
          checkpoint::load(*latest_in(folder.path()), *second.model, *second.optimizer);
      CHECK(state.step == 5);
      const auto got = second.train(6, 10);
      CHECK(got == std::vector(want.begin() + 5, want.end()));
      CHECK(nn::hash_of(*second.model) == nn::hash_of(*straight.model));
    }
  }
}

TEST_CASE("checkpoint: the state of the run, the model's metadata and extra files come back") {
  const Folder folder;
  Run run(adamw);
  const TrainState state{.step = 12,
                         .epoch = 3,
                         .taken = 40,
                         .seed = UINT64_MAX,
                         .loss_scaler = optim::LossScalerState{0.1F, 17},
                         .notes = {{"data", "a \"text\"\n"}, {"", ""}}};
  const checkpoint::Metadata model = {{"widths", "6 8 3"}, {"kind", "mlp"}};
  const auto path = checkpoint::save(folder.path() / "deep/er", *run.model, *run.optimizer, state,
                                     {.model = model, .files = {{"vocabulary.txt", "a b c"}}});
  CHECK(path == folder.path() / "deep/er/step_000012");
  CHECK(names_in(path) == std::vector<std::string>{"index.json", "mark.json", "model.safetensors",
                                                   "optimizer.safetensors", "vocabulary.txt"});
  CHECK(content_of(path / "vocabulary.txt") == "a b c");
  CHECK(checkpoint::model_metadata(path) == model);
  CHECK(checkpoint::load(path, *run.model, *run.optimizer) == state);
}

TEST_CASE("checkpoint: the same run saves the same bytes") {
  const Folder folder;
  for (const char* name : {"a", "b"}) {
    Run run(adamw);
    run.train(1, 3);
    checkpoint::save(folder / name, *run.model, *run.optimizer, {.step = 3});
  }
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "index.json"}) {
    CHECK(content_of(folder / "a/step_000003" / file) ==
          content_of(folder / "b/step_000003" / file));
  }
}

TEST_CASE("checkpoint: the last ones are kept, by number and not by name, this one always") {
  const Folder folder;
  Run run(momentum);
  const auto save = [&](std::int64_t step, int keep) {
    checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = step},
                     {.keep_last = keep});
  };
  const auto kept = [&] {
    std::vector<std::string> names;
    for (const auto& path : checkpoints_in(folder.path()))
      names.push_back(path.filename().string());
    CHECK(files_in(folder.path()) == names.size());
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(kept().empty());
  CHECK_FALSE(latest_in(folder.path()).has_value());
  CHECK(checkpoints_in(folder / "nowhere").empty());
  for (const std::int64_t step : {999'998, 999'999, 1'000'000}) save(step, 0);
  CHECK(kept() == Names{"step_999998", "step_999999", "step_1000000"});
  CHECK(latest_in(folder.path())->filename() == "step_1000000");
  save(1'000'001, 2);
  CHECK(kept() == Names{"step_1000000", "step_1000001"});
  save(5, 2);  // a run that went back
  CHECK(kept() == Names{"step_000005", "step_1000001"});
  save(6, 1);
  CHECK(kept() == Names{"step_000006"});
}

TEST_CASE("checkpoint: of those that are kept, damaged ones count for nothing") {
  const Folder folder;
  Run run(momentum);
  for (const int step : {3, 4, 7}) {
    checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = step});
  }
  std::filesystem::resize_file(folder / "step_000007/model.safetensors", 20);
  checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 9}, {.keep_last = 2});
  CHECK(names_in(folder.path()) ==
        std::vector<std::string>{"step_000004", "step_000007", "step_000009"});
}

TEST_CASE("checkpoint: one of the same step is replaced") {
  const Folder folder;
  Run run(momentum);
  checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 5});
  run.train(1, 3);
  const auto path = checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 5});
  CHECK(files_in(folder.path()) == 1);
  CHECK(files_in(path) == 4);
  Run again(momentum);
  checkpoint::load(path, *again.model, *again.optimizer);
  CHECK(nn::hash_of(*again.model) == nn::hash_of(*run.model));
}

TEST_CASE("checkpoint: half written ones are not found, and stay where no mark names them") {
  const Folder folder;
  Run run(momentum);
  checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 5});
  for (const char* half : {"step_000006", "step_000008.tmp", "step_000009.old.tmp"}) {
    std::filesystem::create_directories(folder / half / "deep");
    put(folder / half / "model.safetensors", "half");
  }
  for (const char* other : {"step_7", "step_-00008", "step_000009x", "notes", "step_.tmp"}) {
    std::filesystem::create_directory(folder / other);  // not of our making
  }
  put(folder / "step_000010", "a file");
  CHECK(checkpoints_in(folder.path()).size() == 1);
  CHECK(latest_in(folder.path())->filename() == "step_000005");
  checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 6}, {.keep_last = 1});
  CHECK(names_in(folder / "step_000006") ==
        std::vector<std::string>{"deep", "index.json", "mark-again1.json",
                                 "model-again1.safetensors", "model.safetensors",
                                 "optimizer-again1.safetensors"});
  CHECK(files_in(folder.path()) == 9);  // step_000006, two halves and the six of others
}

TEST_CASE("checkpoint: a save that fails leaves the older one and nothing else") {
  const Folder folder;
  Run run(momentum);
  checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 5});
  const std::string too_long(300, 'x');  // no file system here takes such a name
  CHECK_THROWS_AS(checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 6},
                                   {.files = {{too_long, ""}}, .keep_last = 1}),
                  CheckpointError);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"step_000005"});
  put(folder / "occupied", "a file");
  CHECK_THROWS_AS(checkpoint::save(folder / "occupied", *run.model, *run.optimizer, {}),
                  CheckpointError);
}

TEST_CASE("checkpoint: a disk that is full at any byte leaves the older one whole") {
  const Folder folder;
  Run run(adamw);
  run.train(1, 2);
  const auto first = checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 5});
  const auto saved = nn::hash_of(*run.model);
  std::uintmax_t largest = 0;
  for (const std::string& name : names_in(first)) {
    largest = std::max(largest, std::filesystem::file_size(first / name));
  }
  run.train(3, 3);
  for (const std::int64_t step : {5, 6}) {  // over the older one, and beside it
    for (std::uintmax_t bytes = 0; bytes < largest; bytes += 61) {
      const lockstep::test::FullDisk full(bytes);
      CHECK_THROWS_AS(checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = step},
                                       {.keep_last = 1}),
                      CheckpointError);
      REQUIRE(names_in(folder.path()) == std::vector<std::string>{"step_000005"});
      REQUIRE(files_in(first) == 4);
    }
  }
  Run again(adamw);
  checkpoint::load(first, *again.model, *again.optimizer);
  CHECK(nn::hash_of(*again.model) == saved);
  const lockstep::test::FullDisk enough(largest + 100);  // files of other names
  CHECK_NOTHROW(checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = 5}));
}

TEST_CASE("checkpoint: another architecture is refused by the first name that differs") {
  const Folder folder;
  Run run(adamw);
  run.train(1, 2);
  const auto path = checkpoint::save(folder.path(), *run.model, *run.optimizer, {});
  const auto refused = [&](Run&& other, const std::string& why) {
    const auto before = nn::hash_of(*other.model);
    CHECK_THROWS_AS(checkpoint::load(path, *other.model, *other.optimizer), CheckpointError);
    CHECK_THROWS_WITH(checkpoint::load(path, *other.model, *other.optimizer),
                      contains(why) && contains("step_000000"));
    CHECK(nn::hash_of(*other.model) == before);
    CHECK(other.optimizer->state().empty());
  };
  refused(Run(adamw, {6, 9, 3}),
          "\"0.weight\" is float32 [8, 6] in the file and float32 [9, 6] here");
  refused(Run(adamw, {6, 8, 4}),
          "\"1.weight\" is float32 [3, 8] in the file and float32 [4, 8] here");
  refused(Run(adamw, {6, 8, 3, 3}), "it has no \"2.weight\", here float32 [3, 3]");
  refused(Run(adamw, {6, 8}), "it has \"1.weight\", float32 [3, 8], which is not here; the file");
  refused(Run(adamw, {6, 8, 3}, DType::float64),
          "is float32 [8, 6] in the file and float64 [8, 6]");
}

TEST_CASE("checkpoint: another optimizer is refused, and the model is left as it was") {
  const Folder folder;
  Run run(momentum);
  run.train(1, 2);
  const auto path = checkpoint::save(folder.path(), *run.model, *run.optimizer, {});
  Run other(adamw), plain(optimizers[0].second);
  const auto before = nn::hash_of(*other.model);
  CHECK_THROWS_WITH(checkpoint::load(path, *other.model, *other.optimizer),
                    contains("\"sgd\", but this run has \"adamw\""));
  CHECK_THROWS_WITH(checkpoint::load(path, *plain.model, *plain.optimizer),
                    contains("0.weight.momentum_buffer belongs to nothing here"));
  CHECK(nn::hash_of(*other.model) == before);
  CHECK(nn::hash_of(*plain.model) == before);
}

TEST_CASE("checkpoint: buffers of the model are saved and loaded") {
  struct Counting final : nn::Module {
    CpuDevice& device;
    Parameter weight{"weight", full({2}, 1, DType::float32, device), {}, {}};
    nn::Buffer steps{"steps", full({1}, 0, DType::int64, device)};
    explicit Counting(CpuDevice& on) : device(on) {}
    Value forward(Tape&, const Value& input) override { return input; }
    std::vector<Parameter*> parameters() override { return {&weight}; }
    std::vector<nn::Buffer*> buffers() override { return {&steps}; }
  };
  const Folder folder;
  CpuDevice device;
  Counting first(device), second(device);
  first.steps.value.fill_(41);
  const auto optimizer = momentum(first.parameters());
  const auto path = checkpoint::save(folder.path(), first, *optimizer, {});
  checkpoint::load(path, second, *momentum(second.parameters()));
  CHECK(second.steps.value.item() == 41);
}

TEST_CASE("checkpoint: names that would leave the folder or hide a file are refused") {
  const Folder folder;
  Run run(momentum);
  for (const char* name :
       {"", ".", "..", "a/b", "/etc/a", "model.safetensors", "train.json", "index.json",
        "mark.json", "mark-again2.json", "mark-removed.json", "a.tmp"}) {
    CHECK_THROWS_AS(
        checkpoint::save(folder.path(), *run.model, *run.optimizer, {}, {.files = {{name, "x"}}}),
        ContractError);
  }
  CHECK(files_in(folder.path()) == 0);
}
