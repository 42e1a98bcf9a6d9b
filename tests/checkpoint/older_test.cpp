// Checkpoints from before there were indexes: they load, and what they say is not trusted.
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/load_for_inference.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/weights.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"
#include "tests/checkpoint/small_run.hpp"

using namespace lockstep;
using namespace lockstep::test;
using checkpoint::CheckpointError;
using checkpoint::latest_in;
using checkpoint::TrainState;

namespace {

// A checkpoint as it was before there were indexes, of step 0.
std::filesystem::path save_older(const std::filesystem::path& folder, Run& run) {
  const auto path = folder / "step_000000";
  std::filesystem::create_directories(path);
  const auto contents = checkpoint::contents_of(*run.model, *run.optimizer);
  checkpoint::write_safetensors(path / "model.safetensors", checkpoint::tensors_of(*run.model),
                                {{"kind", "mlp"}});
  checkpoint::write_safetensors(path / "optimizer.safetensors",
                                tensors_of(contents.pieces, checkpoint::Of::optimizer),
                                {{"kind", contents.optimizer}});
  put(path / "train.json",
      R"({"step": 0, "epoch": 2, "taken": 24, "seed": 7, "notes": {"--data": "x"}})");
  return path;
}

}  // namespace

TEST_CASE("checkpoint: one from before there were indexes loads, and is replaced by one with") {
  const Folder folder;
  Run run(adamw), again(adamw);
  run.train(1, 3);
  const auto path = save_older(folder.path(), run);
  const auto saved = nn::hash_of(*run.model);
  CHECK(latest_in(folder.path()) == path);
  CHECK(checkpoint::damage_of(path).empty());
  CHECK(checkpoint::model_metadata(path) == checkpoint::Metadata{{"kind", "mlp"}});
  const TrainState state = checkpoint::load(path, *again.model, *again.optimizer);
  CHECK(state == TrainState{.epoch = 2, .taken = 24, .seed = 7, .notes = {{"--data", "x"}}});
  CHECK(again.train(4, 6) == run.train(4, 6));
  std::filesystem::remove(path / "optimizer.safetensors");
  nn::ModelSpec spec;
  spec.widths = {6, 8, 3};
  const auto alone =
      checkpoint::load_for_inference(checkpoint::FileStorage(path), "", spec, run.device);
  CHECK(nn::hash_of(*alone) == saved);
  CHECK_THAT(checkpoint::damage_of(path), contains("optimizer.safetensors is missing"));
  checkpoint::save(folder.path(), *run.model, *run.optimizer, state);
  CHECK(names_in(path) == std::vector<std::string>{"index.json", "mark-again1.json",
                                                   "model-again1.safetensors",
                                                   "optimizer-again1.safetensors"});
  CHECK(checkpoint::load(path, *again.model, *again.optimizer) == state);
  CHECK(nn::hash_of(*again.model) == nn::hash_of(*run.model));
}

TEST_CASE("checkpoint: an older train.json that is not ours is refused with its file and field") {
  const Folder folder;
  Run run(momentum);
  const auto path = save_older(folder.path(), run);
  const std::string good = content_of(path / "train.json");
  const auto refused = [&](const std::string& json, const std::string& why) {
    put(path / "train.json", json);
    CAPTURE(json.substr(0, 200));
    CHECK_THROWS_AS(checkpoint::load(path, *run.model, *run.optimizer), CheckpointError);
    CHECK_THROWS_WITH(checkpoint::load(path, *run.model, *run.optimizer),
                      contains(why) && contains("train.json"));
  };
  const auto with = [](const std::string& step, const std::string& more = "") {
    return R"({"step":)" + step + R"(,"epoch":0,"taken":0,"seed":0,"notes":{})" + more + "}";
  };
  refused("", "no JSON");
  refused("[]", "expected an object");
  refused(good + "x", "no JSON");
  refused("{}", "expected the field step");
  refused(with("-1"), "expected step as a whole number from 0, found \"-1\"");
  refused(with("1.5"), "expected step");
  refused(with("9223372036854775808"), "expected step");
  refused(with("\"1\""), "expected step");
  refused(R"({"step":1,"seed":0,"notes":{}})", "expected the field epoch");
  refused(with("1", R"(,"step":2)"), "\"step\" is there twice");
  refused(with("1", R"(,"more":2)"), "no more than 5 fields");
  refused(with("1", R"(,"loss_scaler":{"scale":1})"), "expected the field clean_updates");
  refused(with("1", R"(,"loss_scaler":{"scale":1e300,"clean_updates":1})"), "expected scale");
  refused(with("1", R"(,"loss_scaler":null)"), "expected an object");
  refused(R"({"step":1,"epoch":0,"taken":0,"seed":0,"notes":{"a":1}})", "expected notes");
  refused(R"({"step":1,"epoch":0,"taken":0,"seed":0,"notes":{"a":"1","a":"2"}})", "twice");
  refused(std::string(500'000, '['), "fields in fields");
  refused(std::string((1 << 20) + 1, ' '), "1048576 at most are read");
  put(path / "train.json", with("1", R"(,"loss_scaler":{"scale":2,"clean_updates":1})"));
  CHECK(checkpoint::load(path, *run.model, *run.optimizer).loss_scaler ==
        optim::LossScalerState{2, 1});
}
