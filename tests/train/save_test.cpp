// Checkpoints that fit any layout: who writes what, every layout's checkpoint read by every other,
// and a save that ends at any of its calls.
#include "engine/train/save.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "engine/base/random.hpp"
#include "engine/checkpoint/memory_storage.hpp"
#include "engine/data/text.hpp"
#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/zero.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using checkpoint::MemoryStorage;
using checkpoint::PowerCut;
using lockstep::test::contains;
using lockstep::test::on_fibers;
using train::Held;
using train::PieceKind;
using train::SaveForm;
using zero::Cut;
using zero::Sharding;

namespace {

constexpr std::int64_t global_batch = 12, tokens = 8;

enum class Engine : std::uint8_t { ddp, shards, stages };

struct Placement {
  const char* name;
  mesh::AxisSizes sizes;
  Engine engine = Engine::ddp;
  train::ZeroOptions zero{};
  train::StageState state = train::StageState::whole;
  int ranks() const { return sizes.tp * sizes.cp * sizes.ep * sizes.dp * sizes.pp; }
};

std::vector<Placement> placements() {
  using train::AccumulateIn;
  const train::ZeroOptions full{{Sharding::full_shard, 1}};
  return {{"one rank", {}},
          {"three replicas", {.dp = 3}},
          {"ZeRO 1 on 2", {.dp = 2}, Engine::shards, {{Sharding::zero_1, 0}, AccumulateIn::whole}},
          {"ZeRO 2 on 3", {.dp = 3}, Engine::shards, {{Sharding::zero_2, 0}}},
          {"FSDP on 4", {.dp = 4}, Engine::shards, full},
          {"FSDP by rows on 3", {.dp = 3}, Engine::shards, {{Sharding::full_shard, 1, Cut::rows}}},
          {"two copies of FSDP", {.dp = 4}, Engine::shards, {{Sharding::full_shard, 1}, {}, 2}},
          {"tp 2 × dp 2", {.tp = 2, .dp = 2}},
          {"tp 4", {.tp = 4}},
          {"FSDP with tp 2", {.tp = 2, .dp = 3}, Engine::shards, full},
          {"tp 2 × pp 2 × dp 2", {.tp = 2, .dp = 2, .pp = 2}, Engine::stages},
          {"pp 2 with ZeRO 1", {.dp = 3, .pp = 2}, Engine::stages, {}, train::StageState::sharded},
          {"cp 2 × dp 2", {.cp = 2, .dp = 2}}};
}

train::Recipe recipe_for(const train::TrainingRanks& ranks) {
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {.layers = 2, .width = 16, .heads = 4, .sequence = tokens};
  recipe.model.dtype = DType::float64;
  recipe.optimizer.kind = optim::OptimizerKind::adamw;
  if (ranks.layer() != nullptr) {
    recipe.model.layers = std::make_shared<tensor_parallel::TensorLayers>(
        *ranks.layer(), tensor_parallel::Sequence::whole);
  }
  if (ranks.sequence() != nullptr) {
    recipe.model.layers = std::make_shared<sequence_parallel::ContextLayers>(
        *ranks.sequence(), sequence_parallel::ContextKind::ring, tokens,
        std::make_shared<nn::LayerMaker>());
  }
  return recipe;
}

std::unique_ptr<train::Strategy> made(const Placement& placement, comm::ProcessGroup& group,
                                      Device& device) {
  const train::TrainingRanks ranks(group, placement.sizes);
  const train::Recipe recipe = recipe_for(ranks);
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

std::int64_t bytes_of(const std::vector<train::Piece>& pieces) {
  std::int64_t bytes = 0;
  for (const train::Piece& piece : pieces) bytes += static_cast<std::int64_t>(piece.value.bytes());
  return bytes;
}

std::uint64_t hash_of(const std::vector<train::Piece>& pieces) {
  std::vector<Tensor> values;
  for (const train::Piece& piece : pieces) values.push_back(piece.value);
  const auto all = checksums_of(values);
  return checksum_of(std::as_bytes(std::span(all)));
}

// Trains up to `steps` steps, from the latest checkpoint of the storage, if any, and saves after
// every `save_every` of them and after the last one.
Course run(const Placement& placement, MemoryStorage& storage, std::int64_t steps, SaveForm form,
           std::int64_t save_every = 0, int keep_last = 0) {
  static const auto dataset = data::make_text(
      "a row of words, of which every eighth begins a sample; and another one that is as long, so "
      "that there are enough of them for five steps of a dozen samples, whoever takes them, and "
      "nobody pads what he reads: it is longer than any run, by some words that nobody ever sees, "
      "because the last step of an epoch may have fewer samples than the others, and then not all "
      "shares are equal",
      *data::make_byte_tokenizer(), tokens, 5);
  Course course;
  course.hashes.resize(static_cast<std::size_t>(placement.ranks()));
  course.held = course.read = std::vector<std::int64_t>(course.hashes.size());
  on_fibers(placement.ranks(), [&](comm::ProcessGroup& group) {
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
    options.save = [&](const train::Position& where) {
      train::save(*strategy, form, "adamw", storage,
                  {.step = where.step, .epoch = where.epoch, .taken = where.taken},
                  {.keep_last = keep_last});
      course.held[at] = bytes_of(strategy->pieces());
    };
    Losses seen;
    const std::array<train::Observer*, 1> observers{&seen};
    train::train(*strategy, *dataset, *dataset, options, observers);
    course.hashes[at] = hash_of(strategy->pieces());
    if (group.rank() == 0) course.losses = seen.losses;
  });
  return course;
}

// Copies of what a storage holds, for a run that must not change it.
void copy(const MemoryStorage& from, MemoryStorage& to, const std::string& folder = "") {
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

Held held(const std::string& name, const Shape& shape, Boxes boxes, int rank, std::size_t place) {
  return {PieceKind::parameter, name, DType::float32, shape, std::move(boxes), rank, place};
}

}  // namespace

TEST_CASE("save: each element is written by one of the ranks that hold it") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const int ranks = 1 + static_cast<int>(random_bits(seed, 0) % 5);
    const Shape shape{1 + static_cast<std::int64_t>(random_bits(seed, 1) % 400), 256};
    std::vector<Held> all;
    for (int rank = 0; rank < ranks; ++rank) {
      // Rows, columns, a flat range or all of it; the first rank has the rest, so that all is held.
      const std::uint64_t kind =
          rank == 0 ? 3 : random_bits(seed, 10 + static_cast<std::uint64_t>(rank)) % 4;
      Boxes boxes = whole_of(shape);
      if (kind == 0) boxes[0].end[0] = shape[0] / 2;
      if (kind == 1) boxes[0].begin[1] = 100;
      if (kind == 2) boxes = range_of(boxes, numel_of(shape) / 3, numel_of(shape) / 2);
      all.push_back(held("w", shape, boxes, rank, 4));
    }
    const auto shares = train::plan_shares(all, ranks);
    REQUIRE(shares.size() == static_cast<std::size_t>(ranks));
    Boxes missing = whole_of(shape);
    std::int64_t written = 0;
    for (const Held& of_rank : all) {
      for (const train::Share& share : shares[static_cast<std::size_t>(of_rank.rank)]) {
        CHECK(share.place == 4);
        Boxes held_here = share.boxes;
        take(held_here, of_rank.boxes);
        CHECK(held_here.empty());  // none that this rank does not hold
        take(missing, share.boxes);
        written += numel_of(share.boxes);
      }
    }
    CAPTURE(seed, ranks);
    CHECK(missing.empty());
    CHECK(written == numel_of(shape));
  }
}

TEST_CASE("save: what replicas hold is dealt evenly, small tensors one to a rank") {
  std::vector<Held> all;
  for (int rank = 0; rank < 4; ++rank) {
    all.push_back(held("large", {1000, 256}, whole_of({1000, 256}), rank, 0));
    for (std::size_t i = 1; i <= 8; ++i) {
      all.push_back(held(text("small", i), {16}, whole_of({16}), rank, i));
    }
  }
  for (const auto& of_rank : train::plan_shares(all, 4)) {
    std::int64_t elements = 0;
    for (const train::Share& share : of_rank) elements += numel_of(share.boxes);
    CHECK(of_rank.size() == 3);
    CHECK(elements == 250 * 256 + 2 * 16);
  }
  all.back().rank = 3;
  all.erase(all.begin(), all.begin() + 9);  // rank 0 holds nothing
  CHECK(train::plan_shares(all, 4)[0].empty());
  all = {held("w", {4, 2}, {{{0, 0}, {1, 2}}}, 0, 0), held("w", {4, 2}, {{{3, 0}, {4, 2}}}, 1, 0)};
  CHECK_THROWS_WITH(train::plan_shares(all, 2),
                    contains("the state of w is not whole: no rank holds place 2 of 8"));
}

TEST_CASE("save: a run saved in any layout goes on in any other, and each rank reads its own") {
  MemoryStorage nothing;
  const Course expected = run(placements()[0], nothing, 4, SaveForm::dense);
  for (const Placement& from : placements()) {
    MemoryStorage saved;
    const Course before = run(from, saved, 2, SaveForm::sharded);
    for (const Placement& to : placements()) {
      CAPTURE(from.name, to.name);
      MemoryStorage storage;
      copy(saved, storage);
      const Course after = run(to, storage, 4, SaveForm::dense);
      REQUIRE(after.losses.size() == 2);
      for (std::size_t k = 0; k < 2; ++k) {
        // AdamW divides by what rounding left of zero.
        CHECK(std::abs(after.losses[k] / expected.losses[k + 2] - 1) <= 1e-9);
      }
      for (std::size_t rank = 0; rank < after.read.size(); ++rank) {
        CAPTURE(rank, after.read[rank], after.held[rank]);
        // At the same layout, no more than it holds; tensors of this model are smaller than blocks.
        if (from.name == to.name) CHECK(after.read[rank] <= after.held[rank]);
      }
    }
  }
}

TEST_CASE("save: a rank reads blocks of what it holds, and of no other rank's part") {
  // Too large for a training run: pieces of ranks that have rows or flat ranges of one matrix.
  constexpr std::int64_t rows = 512, columns = 1000;  // 4 MB of float64
  CpuDevice device;
  MemoryStorage storage;
  const auto draft = checkpoint::begin_save(storage, 1);
  std::vector<std::string> shares;
  for (int rank = 0; rank < 3; ++rank) {
    const Boxes boxes = range_of(whole_of({rows, columns}), rows * columns * rank / 3,
                                 rows * columns * (rank + 1) / 3);
    shares.push_back(
        checkpoint::write_share(storage, draft, {rank, 3},
                                {{{PieceKind::parameter,
                                   "w",
                                   {rows, columns},
                                   boxes,
                                   full({numel_of(boxes)}, rank, DType::float64, device)}},
                                 "sgd"},
                                {}));
  }
  checkpoint::commit_save(storage, draft, shares, {.step = 1}, {});
  const checkpoint::SavedRun saved(storage, draft.folder);
  for (const int ranks : {1, 2, 4, 5, 8}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const Boxes own{{{rows * rank / ranks, 0}, {rows * (rank + 1) / ranks, columns}}};
      const Tensor part = empty({numel_of(own)}, DType::float64, device);
      const std::int64_t before = storage.bytes_read();
      saved.weights().load_boxes(*saved.weights().find("w"), own, part);
      const std::int64_t read = storage.bytes_read() - before;
      const auto bytes = static_cast<std::int64_t>(part.bytes());
      CAPTURE(ranks, rank, read, bytes);
      CHECK(read >= bytes);
      // Two blocks at the ends of the range, and two for each cut between writers that lies in it.
      CHECK(read <= bytes + 6 * (1 << 16));
    }
  }
}

TEST_CASE("save: one that ends at any of its calls leaves the last commit or the one before") {
  const std::vector<Placement> layouts{
      {"one rank", {}},
      {"two replicas", {.dp = 2}},
      {"FSDP on 3", {.dp = 3}, Engine::shards, {{Sharding::full_shard, 1}}},
      {"tp 2 × pp 2", {.tp = 2, .pp = 2}, Engine::stages}};
  for (const Placement& layout : layouts) {
    for (const SaveForm form : {SaveForm::dense, SaveForm::sharded}) {
      MemoryStorage whole;
      const Course expected = run(layout, whole, 4, form, 2);
      MemoryStorage half, counting;
      run(layout, half, 2, form);
      copy(half, counting);
      const std::int64_t first = counting.calls();
      run(layout, counting, 4, form, 0, 1);
      const std::int64_t calls = counting.calls() - first;
      CAPTURE(layout.name, static_cast<int>(form), calls);
      REQUIRE(calls > 10);
      for (std::int64_t k = 0; k < calls; ++k) {
        MemoryStorage storage;
        copy(half, storage);
        storage.stop_after(k);
        CHECK_THROWS(run(layout, storage, 4, form, 0, 1));
        if (k % 3 == 0) storage.start_again();
        if (k % 3 == 1) storage.start_again(PowerCut::loses_names_and_bytes);
        if (k % 3 == 2) storage.start_again(PowerCut::loses_bytes);
        CAPTURE(k, k % 3);
        const auto latest = checkpoint::latest_in(storage);
        REQUIRE(latest.has_value());
        CHECK((*latest == "step_000002" || *latest == "step_000004"));
        if (*latest == "step_000004") {
          const checkpoint::SavedRun saved(storage, *latest);
          CHECK(saved.state().step == 4);
          continue;
        }
        const Course resumed = run(layout, storage, 4, form);
        CHECK(resumed.hashes == expected.hashes);
        CHECK(checkpoint::latest_in(storage) == "step_000004");
      }
    }
  }
}

TEST_CASE("save: a rank whose storage refuses is named on every rank, and nothing hangs") {
  MemoryStorage shared, broken;
  broken.stop_after(0);
  std::array<std::string, 3> told;
  on_fibers(3, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strategy =
        made({"FSDP", {.dp = 3}, Engine::shards, {{Sharding::full_shard, 1}}}, group, device);
    try {
      train::save(*strategy, SaveForm::sharded, "adamw", group.rank() == 1 ? broken : shared, {},
                  {});
    } catch (const checkpoint::CheckpointError& error) {
      told[static_cast<std::size_t>(group.rank())] = error.what();
    }
  });
  for (const std::string& sentence : told) {
    CHECK_THAT(sentence, contains("rank 1 could not save: memory:step_000000/") &&
                             contains("the storage has stopped"));
  }
  CHECK(checkpoint::checkpoints_in(shared).empty());
  CHECK(shared.list("").empty());  // what the others wrote is cleared away
}

TEST_CASE("save: ranks that write to different storages commit nothing, and are told so") {
  std::array<MemoryStorage, 2> storages;
  std::array<std::string, 2> told;
  on_fibers(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto at = static_cast<std::size_t>(group.rank());
    const auto strategy = made({"two replicas", {.dp = 2}}, group, device);
    storages[1].make("step_000000");
    try {
      train::save(*strategy, SaveForm::sharded, "adamw", storages[at], {}, {});
    } catch (const checkpoint::CheckpointError& error) {
      told[at] = error.what();
    }
  });
  for (const std::string& sentence : told) {
    CHECK_THAT(sentence, contains("rank 0 could not save: ") &&
                             contains("model-rank1.safetensors is missing; tensor ") &&
                             contains("ranks that save together need one storage"));
  }
}

TEST_CASE("save: replicas that differ are no checkpoint in shares") {
  std::array<std::string, 2> told;
  on_fibers(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    MemoryStorage storage;
    const auto strategy = made({"two replicas", {.dp = 2}}, group, device);
    if (group.rank() == 1) strategy->pieces()[0].value.fill_(7);
    try {
      train::save(*strategy, SaveForm::sharded, "adamw", storage, {}, {});
    } catch (const Error& error) {
      told[static_cast<std::size_t>(group.rank())] = error.what();
    }
  });
  for (const std::string& sentence : told) {
    CHECK_THAT(sentence, contains("rank 1 holds other parameters than a rank before it"));
  }
}
