// Saves beside the steps: what is committed, where an error of the storage comes out, and what a
// run goes on from that has ended in the middle of one.
#include <array>
#include <map>

#include "tests/catch.hpp"
#include "tests/train/saved_layouts.hpp"

using namespace lockstep;
using namespace lockstep::test;
using checkpoint::CheckpointError;
using checkpoint::PowerCut;

namespace {

constexpr std::array forms{SaveForm::dense, SaveForm::sharded};
constexpr std::int64_t steps = 4;

}  // namespace

TEST_CASE("saver: beside the steps, each commit is the state of its step, in any layout") {
  for (const Placement& layout : placements()) {
    for (const SaveForm form : forms) {
      CAPTURE(layout.name, static_cast<int>(form));
      MemoryStorage between, beside;
      const auto ends = run(layout, between, steps, form, 1).hashes;
      CHECK(run(layout, beside, steps, form, 1, 0, Saves::beside_steps).hashes == ends);
      const auto all = checkpoint::checkpoints_in(between);
      REQUIRE(std::ssize(all) == steps);
      REQUIRE(checkpoint::checkpoints_in(beside) == all);
      for (const std::string& one : all) CHECK(content_of(beside, one) == content_of(between, one));
    }
  }
}

TEST_CASE("saver: a run that was saved beside its steps goes on as one that never stopped") {
  for (const Placement& layout : small_layouts()) {
    for (const SaveForm form : forms) {
      CAPTURE(layout.name, static_cast<int>(form));
      MemoryStorage nothing, storage;
      const auto ends = run(layout, nothing, steps, form).hashes;
      run(layout, storage, 2, form, 1, 0, Saves::beside_steps);
      CHECK(run(layout, storage, steps, form, 1, 0, Saves::beside_steps).hashes == ends);
    }
  }
}

TEST_CASE("saver: an error beside the steps comes out of the next call on every rank, once") {
  for (const SaveForm form : forms) {
    MemoryStorage storage;
    int told = 0;
    on_fibers_with_strands(3, [&](comm::ProcessGroup& group, Strands& strands) {
      CpuDevice device;
      const auto strategy =
          made({"FSDP", {.dp = 3}, Engine::shards, {{Sharding::full_shard, 1}}}, group, device);
      train::Saver saver(*strategy, {.form = form, .optimizer = "adamw", .beside = &strands},
                         storage);
      // The rank that writes next is told to stop before, and the others wait for that.
      const auto at_once = [&](const auto& act) {
        group.barrier();
        if (group.rank() == 0) act();
        group.barrier();
      };
      const auto fails = [&](const auto& call) {
        try {
          call();
        } catch (const CheckpointError& error) {
          CHECK_THAT(error.what(), contains("rank 0 could not save: memory:step_00000") &&
                                       contains("the storage has stopped"));
          ++told;
        }
      };
      saver.save({.step = 1});
      saver.finish();
      at_once([&] { storage.stop_after(9); });
      saver.save({.step = 2});
      fails([&] { saver.save({.step = 3}); });
      saver.finish();
      at_once([&] { storage.start_again(); });
      saver.save({.step = 4});
      saver.finish();
      at_once([&] { storage.stop_after(9); });
      saver.save({.step = 5});
      fails([&] { saver.finish(); });
      saver.finish();
    });
    CHECK(told == 2 * 3);
    storage.start_again();
    CHECK(checkpoint::checkpoints_in(storage) ==
          std::vector<std::string>{"step_000001", "step_000004"});
  }
}

TEST_CASE("saver: a run that ends at any call beside its steps goes on from the last commit") {
  for (const Placement& layout : {small_layouts()[1], small_layouts()[2]}) {
    for (const SaveForm form : forms) {
      MemoryStorage whole, counted;
      const auto ends = run(layout, whole, steps, form, 1).hashes;
      std::map<std::string, std::uint64_t> contents;
      for (const std::string& one : checkpoint::checkpoints_in(whole)) {
        contents[one] = content_of(whole, one);
      }
      put_others(counted);
      const std::int64_t before = counted.calls();
      run(layout, counted, steps, form, 1, 2, Saves::beside_steps);
      const std::int64_t calls = counted.calls() - before;
      std::map<std::string, int> found;
      for (std::int64_t k = 1; k < calls; k += 5) {
        CAPTURE(layout.name, static_cast<int>(form), k, calls);
        MemoryStorage storage;
        put_others(storage);
        storage.stop_after(k);
        try {
          run(layout, storage, steps, form, 1, 2, Saves::beside_steps);
        } catch (const CheckpointError&) {  // as told to
        }
        if (k % 3 == 0) storage.start_again();
        if (k % 3 == 1) storage.start_again(PowerCut::loses_bytes);
        if (k % 3 == 2) storage.start_again(PowerCut::loses_names_and_bytes);
        check_others(storage);
        const auto latest = checkpoint::latest_in(storage);
        ++found[latest.value_or("none")];
        if (!latest) continue;
        CHECK(content_of(storage, *latest) == contents.at(*latest));
        if (*latest == "step_000004") continue;
        CHECK(run(layout, storage, steps, form, 1, 2, Saves::beside_steps).hashes == ends);
        check_others(storage);
      }
      CHECK(std::ssize(found) == 1 + steps);
    }
  }
}
