// A checkpoint by one writer: files that are whole or not there, ranks that wait for the commit,
// and ranks that go on from the same checkpoint.
#include "engine/checkpoint/rank0_checkpoint.hpp"

#include <array>
#include <memory>

#include "engine/checkpoint/memory_storage.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/small_run.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using checkpoint::CheckpointError;
using checkpoint::MemoryStorage;
using checkpoint::PowerCut;
using lockstep::test::contains;

namespace {

// A folder with "older" in f/a, or without it, and what a write that ended early has left beside.
std::unique_ptr<MemoryStorage> with_remains(bool has_older) {
  auto storage = std::make_unique<MemoryStorage>();
  storage->make("f");
  storage->sync("");
  if (has_older) checkpoint::write_whole(*storage, "f/a", "older");
  const std::string remains(40, 'x');
  storage->write("f/a.tmp", 0, std::as_bytes(std::span(remains)));
  return storage;
}

std::string content_or_none(const MemoryStorage& storage, const std::string& file) {
  for (const auto& one : storage.list("f")) {
    if (checkpoint::within("f", one.name) == file) {
      return checkpoint::read_text(storage, file, 1000);
    }
  }
  return "none";
}

checkpoint::Contents contents_on(bool writer, test::Run& run) {
  return writer ? checkpoint::contents_of(*run.model, *run.optimizer) : checkpoint::Contents{};
}

}  // namespace

TEST_CASE("rank 0 checkpoint: a file is the older one or the new one, whenever its write ends") {
  for (const bool has_older : {false, true}) {
    const std::string before = has_older ? "older" : "none";
    const auto whole = with_remains(has_older);
    const std::int64_t begun = whole->calls();
    checkpoint::write_whole(*whole, "f/a", "new");
    const std::int64_t calls = whole->calls() - begun;
    int old = 0, fresh = 0;
    for (std::int64_t k = 0; k <= calls; ++k) {
      const auto storage = with_remains(has_older);
      storage->stop_after(k);
      if (k < calls) {
        CHECK_THROWS_AS(checkpoint::write_whole(*storage, "f/a", "new"), CheckpointError);
      } else {
        checkpoint::write_whole(*storage, "f/a", "new");
      }
      for (const int cut : {0, 1, 2}) {
        CAPTURE(has_older, k, calls, cut);
        if (cut == 0) storage->start_again();
        if (cut == 1) storage->start_again(PowerCut::loses_bytes);
        if (cut == 2) storage->start_again(PowerCut::loses_names_and_bytes);
        const std::string found = content_or_none(*storage, "f/a");
        CHECK((found == "new" || (found == before && k < calls)));
        ++(found == "new" ? fresh : old);
      }
    }
    CHECK(old >= 9);
    CHECK(fresh >= 4);
  }
}

TEST_CASE("rank 0 checkpoint: the writer alone calls the storage, and all wait for its commit") {
  for (const int writer : {0, 2}) {
    MemoryStorage storage;
    test::on_fibers(3, [&](comm::ProcessGroup& group) {
      test::Run run(test::adamw);
      MemoryStorage of_others;
      const bool writes = group.rank() == writer;
      checkpoint::save_from_one(group, writer, writes ? storage : of_others,
                                contents_on(writes, run), {.step = 6}, {});
      CHECK(checkpoint::latest_in(storage) == "step_000006");
      CHECK(of_others.calls() == 0);
    });
  }
}

TEST_CASE("rank 0 checkpoint: a writer that fails is named on every rank, and leaves nothing") {
  MemoryStorage storage;
  std::array<std::string, 3> told;
  test::on_fibers(3, [&](comm::ProcessGroup& group) {
    test::Run run(test::adamw);
    try {
      // No file can have the name of the index, which is found out behind the tensors.
      checkpoint::save_from_one(group, 1, storage, contents_on(group.rank() == 1, run), {.step = 6},
                                {.files = {{"index.json", "x"}}});
    } catch (const Error& error) {
      told[static_cast<std::size_t>(group.rank())] = error.what();
    }
  });
  CHECK_THAT(told[0], contains("nothing was saved: rank 1 could not write the checkpoint"));
  CHECK_THAT(told[1], contains("\"index.json\""));
  CHECK(told[2] == told[0]);
  CHECK(storage.calls() > 10);
  CHECK(storage.list("").empty());
}

TEST_CASE("rank 0 checkpoint: all ranks go on from the checkpoint that rank 0 finds") {
  // What each rank would find for itself, in storages that change while ranks look.
  const std::array<std::vector<std::int64_t>, 3> steps{{{5}, {5, 9}, {3, 5}}};
  std::array<MemoryStorage, 3> storages;
  test::Run run(test::adamw);
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    for (const std::int64_t step : steps[rank]) {
      checkpoint::save(storages[rank], contents_on(true, run), {.step = step, .taken = 2 * step});
    }
  }
  int restored = 0;
  test::on_fibers(3, [&](comm::ProcessGroup& group) {
    const auto state = checkpoint::load_for_all(
        group, storages[static_cast<std::size_t>(group.rank())],
        [&](const checkpoint::SavedRun& saved) { restored += saved.state().step == 5 ? 1 : 0; });
    REQUIRE(state.has_value());
    CHECK(*state == checkpoint::TrainState{.step = 5, .taken = 10});
  });
  CHECK(restored == 3);
}

TEST_CASE("rank 0 checkpoint: where rank 0 finds none, no rank restores anything") {
  std::array<MemoryStorage, 2> storages;
  test::Run run(test::adamw);
  checkpoint::save(storages[1], contents_on(true, run), {.step = 4});
  test::on_fibers(2, [&](comm::ProcessGroup& group) {
    const auto state = checkpoint::load_for_all(
        group, storages[static_cast<std::size_t>(group.rank())],
        [](const checkpoint::SavedRun&) { FAIL("there is nothing to restore"); });
    CHECK_FALSE(state.has_value());
  });
}
