// A checkpoint of several writers becomes a model that answers: under which names its tensors are
// found, what is read, and what is refused before anything is read.
#include "engine/checkpoint/load_for_inference.hpp"

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/memory_storage.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/small_run.hpp"

using namespace lockstep;
using checkpoint::CheckpointError;
using checkpoint::MemoryStorage;
using lockstep::test::contains;

namespace {

constexpr const char* saved_in = "step_000003";

// Saves what a model and its optimizer have, as three ranks do that hold flat ranges of each
// tensor.
void save_in_ranges(MemoryStorage& storage, nn::Module& model, const optim::Optimizer& optimizer,
                    const std::string& prefix) {
  const auto all = checkpoint::contents_of(model, optimizer);
  const auto draft = checkpoint::begin_save(storage, 3);
  std::vector<std::string> shares;
  for (int rank = 0; rank < 3; ++rank) {
    checkpoint::Contents mine{{}, all.optimizer};
    for (checkpoint::Piece piece : all.pieces) {
      const std::int64_t count = piece.value.numel();
      piece.name = prefix + piece.name;
      piece.boxes = range_of(piece.boxes, count * rank / 3, count * (rank + 1) / 3);
      piece.value = cut(piece.value, piece.boxes);
      if (!piece.boxes.empty()) mine.pieces.push_back(piece);
    }
    shares.push_back(checkpoint::write_share(storage, draft, {rank, 3}, mine, {}));
  }
  checkpoint::commit_save(storage, draft, shares, {.step = 3}, {});
}

std::int64_t index_bytes_in(const MemoryStorage& storage) {
  for (const auto& one : storage.list(saved_in)) {
    if (one.name == "index.json") return static_cast<std::int64_t>(one.bytes);
  }
  return -1;
}

nn::ModelSpec mlp_of(std::vector<std::int64_t> layers, DType dtype = DType::float32) {
  nn::ModelSpec spec;
  spec.widths = std::move(layers);
  spec.dtype = dtype;
  return spec;
}

}  // namespace

TEST_CASE("load for inference: the weights come back behind any prefix, and nothing else is read") {
  test::Run run(test::adamw);
  run.train(1, 3);
  std::int64_t weights_bytes = 0;
  for (const Parameter* one : run.model->parameters()) {
    weights_bytes += static_cast<std::int64_t>(one->value.bytes());
  }
  for (const char* prefix : {"", "module.", "_orig_mod.module."}) {
    CAPTURE(prefix);
    MemoryStorage storage;
    save_in_ranges(storage, *run.model, *run.optimizer, prefix);
    const std::int64_t before = storage.bytes_read();
    const auto model =
        checkpoint::load_for_inference(storage, saved_in, mlp_of({6, 8, 3}), run.device);
    CHECK(storage.bytes_read() - before == index_bytes_in(storage) + weights_bytes);
    CHECK(nn::hash_of(*model) == nn::hash_of(*run.model));
  }
}

TEST_CASE("load for inference: dropout does nothing") {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.gpt = {.layers = 2, .width = 8, .heads = 2, .sequence = 4, .vocabulary = 16, .dropout = 0.5};
  CpuDevice device;
  const auto trained = nn::make_model(spec, device, 5);
  MemoryStorage storage;
  save_in_ranges(storage, *trained, *optim::make_sgd(trained->parameters(), {0.1}), "");
  const auto model = checkpoint::load_for_inference(storage, saved_in, spec, device);
  const Tensor tokens = from_values(std::vector<double>{1, 2, 3, 4}, {1, 4}, DType::int64, device);
  const auto logits_of = [&](nn::Module& of) {
    Tape tape(GradMode::inference);
    const Tensor logits = of.forward(tape, tape.constant(tokens)).tensor;
    const auto all = logits.data<float>();
    return std::vector<float>(all.begin(), all.end());
  };
  const auto answer = logits_of(*model);
  CHECK(logits_of(*model) == answer);
  trained->prepare({.mode = nn::Mode::training, .seed = 1});
  CHECK(logits_of(*trained) != answer);
  trained->prepare({.mode = nn::Mode::evaluation});
  CHECK(logits_of(*trained) == answer);
}

TEST_CASE(
    "load for inference: another model is refused with its first tensor, and nothing is read") {
  test::Run run(test::adamw);
  MemoryStorage storage;
  save_in_ranges(storage, *run.model, *run.optimizer, "module.");
  const auto refused = [&](const nn::ModelSpec& spec, const std::string& why) {
    const std::int64_t before = storage.bytes_read();
    CHECK_THROWS_WITH(checkpoint::load_for_inference(storage, saved_in, spec, run.device),
                      contains("memory:step_000003/") && contains(why));
    CHECK(storage.bytes_read() - before == index_bytes_in(storage));
  };
  refused(mlp_of({6, 8, 4}),
          "\"1.weight\" is float32 [4, 8] in the model, and float32 [3, 8] in the checkpoint");
  refused(mlp_of({6, 8, 3}, DType::float64),
          "\"0.weight\" is float64 [8, 6] in the model, and float32 [8, 6] in the checkpoint");
  refused(mlp_of({6, 8, 3, 3}), "in the model, and not in the checkpoint");
  CHECK_THROWS_AS(checkpoint::load_for_inference(storage, "nowhere", mlp_of({6, 8, 3}), run.device),
                  CheckpointError);
}
