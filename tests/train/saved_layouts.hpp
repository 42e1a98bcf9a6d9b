// Runs of one small GPT in many layouts, whose checkpoints lie in memory.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/checkpoint/memory_storage.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "engine/data/text.hpp"
#include "engine/parallel/expert/expert_layers.hpp"
#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/save.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/zero.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

namespace lockstep::test {

using checkpoint::MemoryStorage;
using train::SaveForm;
using zero::Sharding;

constexpr std::int64_t global_batch = 12, tokens = 8;

enum class Engine : std::uint8_t { ddp, shards, stages };

struct Placement {
  const char* name;
  mesh::AxisSizes sizes;
  Engine engine = Engine::ddp;
  train::ZeroOptions zero{};
  train::StageState state = train::StageState::whole;
  std::int64_t layers = 2;
  std::int64_t experts = 0;  // of each block; 0: none
  int ranks() const { return sizes.tp * sizes.cp * sizes.ep * sizes.dp * sizes.pp; }
};

inline std::vector<Placement> placements() {
  using train::AccumulateIn;
  const train::ZeroOptions full{{Sharding::full_shard, 1}};
  return {{"one rank", {}},
          {"three replicas", {.dp = 3}},
          {"ZeRO 1 on 2", {.dp = 2}, Engine::shards, {{Sharding::zero_1, 0}, AccumulateIn::whole}},
          {"ZeRO 2 on 3", {.dp = 3}, Engine::shards, {{Sharding::zero_2, 0}}},
          {"FSDP on 4", {.dp = 4}, Engine::shards, full},
          {"FSDP by rows on 3",
           {.dp = 3},
           Engine::shards,
           {{Sharding::full_shard, 1, zero::Cut::rows}}},
          {"two copies of FSDP", {.dp = 4}, Engine::shards, {{Sharding::full_shard, 1}, {}, 2}},
          {"tp 2 × dp 2", {.tp = 2, .dp = 2}},
          {"tp 4", {.tp = 4}},
          {"FSDP with tp 2", {.tp = 2, .dp = 3}, Engine::shards, full},
          {"tp 2 × pp 2 × dp 2", {.tp = 2, .dp = 2, .pp = 2}, Engine::stages},
          {"pp 2 with ZeRO 1", {.dp = 3, .pp = 2}, Engine::stages, {}, train::StageState::sharded},
          {"cp 2 × dp 2", {.cp = 2, .dp = 2}}};
}

// Layouts of a model with experts. They are few: replicas, shards and stages are the same as above.
inline std::vector<Placement> placements_of_experts() {
  std::vector<Placement> all{
      {"one rank", {}},
      {"ep 2", {.ep = 2}},
      {"ep 4", {.ep = 4}},
      {"ep 2 × dp 2", {.ep = 2, .dp = 2}},
      {"tp 2 × ep 2", {.tp = 2, .ep = 2}},
      {"ep 2 × pp 2", {.ep = 2, .pp = 2}, Engine::stages},
      {"ep 2 with ZeRO 1", {.ep = 2, .dp = 2}, Engine::stages, {}, train::StageState::sharded},
      {"FSDP on 3", {.dp = 3}, Engine::shards, {{Sharding::full_shard, 1}}}};
  for (Placement& one : all) one.experts = 4;
  return all;
}

// One block each, where it is not for two stages.
inline std::vector<Placement> small_layouts() {
  std::vector<Placement> all{{"one rank", {}},
                             {"two replicas", {.dp = 2}},
                             {"FSDP on 3", {.dp = 3}, Engine::shards, {{Sharding::full_shard, 1}}},
                             {"tp 2 × pp 2", {.tp = 2, .pp = 2}, Engine::stages}};
  for (std::size_t i = 0; i < 3; ++i) all[i].layers = 1;
  return all;
}

inline train::Recipe recipe_for(const train::TrainingRanks& ranks, const Placement& placement) {
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {.layers = placement.layers, .width = 16, .heads = 4, .sequence = tokens};
  recipe.model.dtype = DType::float64;
  recipe.optimizer.kind = optim::OptimizerKind::adamw;
  std::shared_ptr<nn::LayerMaker> layers;
  if (ranks.layer() != nullptr) {
    layers = std::make_shared<tensor_parallel::TensorLayers>(*ranks.layer(),
                                                             tensor_parallel::Sequence::whole);
  }
  if (ranks.sequence() != nullptr) {
    layers = std::make_shared<sequence_parallel::ContextLayers>(
        *ranks.sequence(), sequence_parallel::ContextKind::ring, tokens,
        std::make_shared<nn::LayerMaker>());
  }
  if (placement.experts > 0) {
    // Without a balancing loss, which each micro-batch would take for itself.
    recipe.model.gpt.mixture = {.experts = placement.experts, .top_k = 2, .aux_loss = 0};
    layers = std::make_shared<expert_parallel::ExpertLayers>(
        expert_parallel::ExpertRanks{.experts = ranks.experts(), .tokens = &ranks.replicas()},
        layers ? layers : std::make_shared<nn::LayerMaker>(),
        expert_parallel::ExpertModel{.blocks = placement.layers, .experts = placement.experts});
  }
  recipe.model.layers = layers;
  return recipe;
}

inline std::unique_ptr<train::Strategy> made(const Placement& placement, comm::ProcessGroup& group,
                                             Device& device) {
  const train::TrainingRanks ranks(group, placement.sizes);
  const train::Recipe recipe = recipe_for(ranks, placement);
  if (placement.engine == Engine::shards) {
    return train::make_zero(ranks, device, recipe, 0.5, placement.zero);
  }
  if (placement.engine == Engine::stages) {
    train::PipelineOptions options{.stages = placement.sizes.pp, .micro_batches = 2};
    options.state = placement.state;
    return train::make_pipeline(ranks, device, recipe, 0.5, options);
  }
  return train::make_ddp_or_plain(ranks, device, recipe, {.clip_norm = 0.5});
}

struct Losses final : train::Observer {
  std::vector<double> losses;
  void on_step(const train::StepReport& report) override { losses.push_back(report.loss); }
  void on_epoch(const train::EpochReport&) override {}
  void on_end(const train::Summary&) override {}
};

struct Course {
  std::vector<double> losses;            // as rank 0 sees them
  std::vector<std::uint64_t> hashes;     // of what each rank holds at the end
  std::vector<std::int64_t> held, read;  // bytes, by rank: of its state, and of the resume
};

inline std::int64_t bytes_of(const std::vector<train::Piece>& pieces) {
  std::int64_t bytes = 0;
  for (const train::Piece& piece : pieces) bytes += static_cast<std::int64_t>(piece.value.bytes());
  return bytes;
}

inline std::uint64_t hash_of(const std::vector<train::Piece>& pieces) {
  std::vector<Tensor> values;
  for (const train::Piece& piece : pieces) values.push_back(piece.value);
  const auto all = checksums_of(values);
  return checksum_of(std::as_bytes(std::span(all)));
}

inline std::unique_ptr<data::Dataset> some_text() {
  return data::make_text(
      "a row of words, of which every eighth begins a sample; and another one that is as long, so "
      "that there are enough of them for five steps of a dozen samples, whoever takes them, and "
      "nobody pads what he reads: it is longer than any run, by some words that nobody ever sees, "
      "because the last step of an epoch may have fewer samples than the others, and then not all "
      "shares are equal",
      *data::make_byte_tokenizer(), tokens, 5);
}

// If a save is over before the next step begins, or is written beside the steps that follow.
enum class Saves : std::uint8_t { between_steps, beside_steps };

// Trains up to `steps` steps, from the latest checkpoint of the storage, if any, and saves after
// every `save_every` of them and after the last one.
inline Course run(const Placement& placement, MemoryStorage& storage, std::int64_t steps,
                  SaveForm form, std::int64_t save_every = 0, int keep_last = 0,
                  Saves when = Saves::between_steps) {
  Course course;
  const auto dataset = some_text();
  course.hashes.resize(static_cast<std::size_t>(placement.ranks()));
  course.held = course.read = std::vector<std::int64_t>(course.hashes.size());
  on_fibers_with_strands(placement.ranks(), [&](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    const auto at = static_cast<std::size_t>(group.rank());
    const auto strategy = made(placement, group, device);
    train::TrainOptions options{.batch_size = global_batch / strategy->position().shares,
                                .steps = steps,
                                .decay = optim::Decay::constant};
    if (const auto latest = checkpoint::latest_in(storage)) {
      const checkpoint::SavedRun saved(storage, *latest);
      const std::int64_t before = storage.bytes_read();
      strategy->restore(saved);
      course.read[at] = storage.bytes_read() - before;
      options.start = {saved.state().step, saved.state().epoch, saved.state().taken};
    }
    group.barrier();  // nobody looks for the latest when there is one of this run
    options.save_every = save_every;
    train::Saver saver(*strategy,
                       {.form = form,
                        .optimizer = "adamw",
                        .of_checkpoints = {.keep_last = keep_last},
                        .beside = when == Saves::beside_steps ? &strands : nullptr},
                       storage);
    options.save = [&](const train::Position& where) {
      saver.save({.step = where.step, .epoch = where.epoch, .taken = where.taken});
      course.held[at] = bytes_of(strategy->pieces());
    };
    Losses seen;
    const std::array<train::Observer*, 1> observers{&seen};
    train::train(*strategy, *dataset, *dataset, options, observers);
    saver.finish();
    course.hashes[at] = hash_of(strategy->pieces());
    if (group.rank() == 0) course.losses = seen.losses;
  });
  return course;
}

// Of all that a checkpoint says and holds, verified.
inline std::uint64_t content_of(const MemoryStorage& storage, const std::string& folder) {
  CpuDevice device;
  const checkpoint::SavedRun saved(storage, folder);
  std::map<std::string, Tensor> all;
  for (const auto* tensors : {&saved.weights(), &saved.optimizer()}) {
    for (const auto& entry : tensors->tensors()) all[entry.name] = tensors->load(entry, device);
  }
  std::vector<Tensor> values;
  for (const auto& [name, value] : all) values.push_back(value);
  std::vector<std::uint64_t> hashes = checksums_of(values);
  hashes.push_back(static_cast<std::uint64_t>(saved.state().taken));
  return checksum_of(std::as_bytes(std::span(hashes)));
}

// Copies of what a storage holds, for a run that must not change it.
inline void copy(const MemoryStorage& from, MemoryStorage& to, const std::string& folder = "") {
  to.make(folder);
  for (const auto& one : from.list(folder)) {
    const std::string name = checkpoint::within(folder, one.name);
    if (one.kind == checkpoint::StoredKind::folder) {
      copy(from, to, name);
      continue;
    }
    std::vector<std::byte> bytes(one.bytes);
    from.read(name, 0, bytes);
    to.write(name, 0, bytes);
    to.sync(name);
  }
  to.sync(folder);
}

// Files of a person among the checkpoints, under names such as saves use, or have used. They lie on
// the disk. A save leaves them as they are, whenever it ends.
inline const std::vector<std::string> others{
    "step_000002/notes.txt",         "step_000002/model-best.safetensors",
    "step_000003/model.safetensors", "step_000004/notes.txt",
    "step_000004.tmp/notes.txt",     "step_000004.old/index.json",
    "step_000900/notes.txt",         "notes.txt"};

inline void put_others(MemoryStorage& storage) {
  for (const std::string& file : others) {
    const std::string folder = checkpoint::folder_of(file);
    storage.make(folder);
    storage.write(file, 0, std::as_bytes(std::span(file)));
    for (const std::string& name : {file, folder, std::string()}) storage.sync(name);
  }
}

inline void check_others(const MemoryStorage& storage) {
  for (const std::string& file : others) {
    CAPTURE(file);
    REQUIRE(checkpoint::is_there(storage, file));
    CHECK(checkpoint::read_text(storage, file, 100) == file);
  }
}

}  // namespace lockstep::test
