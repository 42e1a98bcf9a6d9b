// Checkpoints that fit any layout: who writes what, and every layout's checkpoint read by every
// other.
#include "engine/train/save.hpp"

#include <array>
#include <cmath>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/train/saved_layouts.hpp"

using namespace lockstep;
using namespace lockstep::test;
using train::Held;
using train::PieceKind;

namespace {

Held held(const std::string& name, const Shape& shape, Boxes boxes, int rank, std::size_t place) {
  return {PieceKind::parameter, name, DType::float32, shape, std::move(boxes), rank, place};
}

// Saves two steps in each layout, and takes two more in each.
void check_matrix(const std::vector<Placement>& layouts) {
  MemoryStorage nothing;
  const Course expected = run(layouts[0], nothing, 4, SaveForm::dense);
  for (const Placement& from : layouts) {
    MemoryStorage saved;
    const Course before = run(from, saved, 2, SaveForm::sharded);
    for (const Placement& to : layouts) {
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
  check_matrix(placements());
}

TEST_CASE("save: a run with experts, saved in any layout, goes on in any other") {
  check_matrix(placements_of_experts());
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

TEST_CASE("save: a rank whose storage refuses is named on every rank, and nothing hangs") {
  MemoryStorage shared, broken;
  broken.make("step_000000");
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
