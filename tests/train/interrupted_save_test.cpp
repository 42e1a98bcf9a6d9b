// A save that ends at any of its calls, as a program does that is killed or a machine whose power
// fails: what is left is a checkpoint, and the run that goes on from it is the one that never
// stopped.
#include <map>

#include "tests/catch.hpp"
#include "tests/train/saved_layouts.hpp"

using namespace lockstep;
using namespace lockstep::test;
using checkpoint::PowerCut;

namespace {

// One layout's run of four steps, saved after the second one, and what a save after the fourth has
// left: one that was not interrupted, and one for each of its calls, at which it ended.
struct Interrupted {
  std::vector<std::uint64_t> ends;              // hashes of what each rank holds at the end
  std::map<std::int64_t, std::uint64_t> saved;  // hash of the checkpoint of each step
  std::vector<std::unique_ptr<MemoryStorage>> storages;
};

// Every file is somebody else's, or one of the last checkpoint's.
void check_no_remains(const MemoryStorage& storage, const std::string& latest) {
  for (const auto& folder : storage.list("")) {
    if (folder.kind == checkpoint::StoredKind::file || folder.name == latest) continue;
    for (const auto& one : storage.list(folder.name)) {
      const std::string file = checkpoint::within(folder.name, one.name);
      CAPTURE(file);
      CHECK(std::ranges::find(others, file) != others.end());
    }
  }
}

enum class Replaces : std::uint8_t { nothing, same_step };

Interrupted interrupt(const Placement& layout, SaveForm form, Replaces replaces) {
  Interrupted result;
  MemoryStorage half, whole;
  result.ends = run(layout, whole, 4, form, 2).hashes;
  run(layout, half, 2, form);
  for (const std::int64_t step : {2, 4}) {
    result.saved[step] = content_of(whole, text("step_00000", step));
  }
  on_fibers(layout.ranks(), [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strategy = made(layout, group, device);
    // Saves into a copy of what there was, which ends after so many calls; returns how many it
    // took.
    const auto save = [&](const train::Position& at, std::int64_t calls_max) {
      if (group.rank() == 0) {
        result.storages.push_back(std::make_unique<MemoryStorage>());
        copy(half, *result.storages.back());
        put_others(*result.storages.back());
        result.storages.back()->stop_after(calls_max);
      }
      group.barrier();
      MemoryStorage& storage = *result.storages.back();
      const std::int64_t before = storage.calls();
      group.barrier();
      const std::int64_t step = replaces == Replaces::same_step ? 2 : at.step;
      try {
        train::save(*strategy, form, "adamw", storage,
                    {.step = step, .epoch = at.epoch, .taken = at.taken}, {.keep_last = 1});
      } catch (const checkpoint::CheckpointError&) {  // as told to
      }
      group.barrier();
      return storage.calls() - before;
    };
    train::TrainOptions options{.batch_size = global_batch / strategy->position().shares,
                                .steps = 4,
                                .decay = optim::Decay::constant};
    options.save = [&](const train::Position& at) {
      const std::int64_t calls = save(at, 1 << 20);
      for (std::int64_t k = 0; k < calls; ++k) save(at, k);
    };
    Losses seen;
    const std::array<train::Observer*, 1> observers{&seen};
    const auto dataset = some_text();
    train::train(*strategy, *dataset, *dataset, options, observers);
  });
  return result;
}

}  // namespace

TEST_CASE("save: one that ends at any of its calls leaves the last commit or the one before") {
  for (const Placement& layout : small_layouts()) {
    for (const SaveForm form : {SaveForm::dense, SaveForm::sharded}) {
      auto interrupted = interrupt(layout, form, Replaces::nothing);
      const std::size_t all = interrupted.storages.size();
      CAPTURE(layout.name, static_cast<int>(form), all);
      REQUIRE(all > 40);
      std::map<std::string, int> found;
      for (std::size_t k = 0; k < all; ++k) {
        for (const int cut : {0, 1, 2}) {
          CAPTURE(k, cut);
          MemoryStorage& storage = *interrupted.storages[k];
          // The gentlest first: what a power cut takes is gone for the next one.
          if (cut == 0) storage.start_again();
          if (cut == 1) storage.start_again(PowerCut::loses_bytes);
          if (cut == 2) storage.start_again(PowerCut::loses_names_and_bytes);
          check_others(storage);
          const auto latest = checkpoint::latest_in(storage);
          REQUIRE(latest.has_value());
          ++found[*latest];
          CHECK(content_of(storage, *latest) ==
                interrupted.saved.at(*latest == "step_000004" ? 4 : 2));
        }
        if (k % 16 != 3) continue;
        MemoryStorage& storage = *interrupted.storages[k];
        const bool was_over = checkpoint::latest_in(storage) == "step_000004";
        if (was_over) continue;
        CHECK(run(layout, storage, 4, form, 0, 1).hashes == interrupted.ends);
        CHECK(checkpoint::latest_in(storage) == "step_000004");
        check_others(storage);
        check_no_remains(storage, "step_000004");
      }
      CHECK(found["step_000002"] > 60);
      CHECK(found["step_000004"] > 3);
    }
  }
}

TEST_CASE("save: one over a checkpoint of the same step leaves the old one or the new one, whole") {
  for (const Placement& layout : {small_layouts()[0], small_layouts()[2]}) {
    for (const SaveForm form : {SaveForm::sharded}) {
      auto interrupted = interrupt(layout, form, Replaces::same_step);
      CAPTURE(layout.name, static_cast<int>(form));
      int old = 0, fresh = 0;
      for (const auto& storage : interrupted.storages) {
        storage->start_again();
        for (const int cut : {0, 1, 2}) {
          if (cut == 1) storage->start_again(PowerCut::loses_bytes);
          if (cut == 2) storage->start_again(PowerCut::loses_names_and_bytes);
          check_others(*storage);
          const std::uint64_t content = content_of(*storage, "step_000002");
          REQUIRE((content == interrupted.saved.at(2) || content == interrupted.saved.at(4)));
          ++(content == interrupted.saved.at(2) ? old : fresh);
        }
      }
      CHECK(old > 60);
      CHECK(fresh > 3);
    }
  }
}
