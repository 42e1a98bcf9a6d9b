// A rank that dies in a save or a load, at each of its calls, of the group as of the storage: each
// of the others ends, and says which rank it missed and what it was saving; the last commit loads.
#include <array>
#include <map>

#include "engine/checkpoint/agree.hpp"
#include "engine/checkpoint/rank0_checkpoint.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/core/services.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"
#include "tests/train/saved_layouts.hpp"

using namespace lockstep;
using namespace lockstep::test;
using checkpoint::Stored;

namespace {

// A rank's way to a storage in memory. Each call is one of the rank's calls to the world, at which
// it may die.
class AskedStorage final : public checkpoint::Storage {
 public:
  AskedStorage(const sim::Core& core, sim::FiberRank& rank, MemoryStorage& files)
      : core_(core), rank_(rank), files_(files) {}
  std::string told(const std::string& name) const override { return files_.told(name); }
  void make(const std::string& folder) override { asked().make(folder); }
  void write(const std::string& file, std::uint64_t offset,
             std::span<const std::byte> bytes) override {
    asked().write(file, offset, bytes);
  }
  void sync(const std::string& name) override { asked().sync(name); }
  void rename(const std::string& file, const std::string& to) override { asked().rename(file, to); }
  std::vector<Stored> list(const std::string& folder) const override {
    return asked().list(folder);
  }
  void read(const std::string& file, std::uint64_t offset,
            std::span<std::byte> into) const override {
    asked().read(file, offset, into);
  }
  void remove(const std::string& name) override { asked().remove(name); }

 private:
  MemoryStorage& asked() const {
    sim::Request request;
    request.op = sim::Op::service;
    request.name = "disk";
    request.data = sim::payload_of(Bytes(sizeof(std::int64_t)));
    rank_.port.call(request);
    // A dead rank is unwound when all others have ended, and must not go on with its save then.
    if (!core_.gone(rank_.rank).empty()) throw checkpoint::CheckpointError("this rank is dead");
    return files_;
  }

  const sim::Core& core_;
  sim::FiberRank& rank_;
  MemoryStorage& files_;
};

constexpr int ranks = 3;
enum class Part : std::uint8_t { before, in, after };  // of what is tried

struct Lost {
  int dead = 0;
  std::array<std::string, ranks> told{};  // what each rank threw
  std::array<Part, ranks> at{};           // how far each rank came

  // By survivors that were in what is tried. Once one of them has ended, the simulator ends the
  // others, and says so in their place.
  std::vector<std::string> told_in() const {
    std::vector<std::string> all;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto place = static_cast<std::size_t>(rank);
      const bool by_itself = told[place].find("could not continue") == std::string::npos;
      if (rank != dead && at[place] == Part::in && by_itself) all.push_back(told[place]);
    }
    return all;
  }
};

using Body = std::function<void(comm::ProcessGroup&, Strands&, checkpoint::Storage&, Part& at)>;

// Runs `body` on three ranks, of which one dies at that call.
Lost lose(int rank, std::int64_t call, MemoryStorage& files, const Body& body) {
  Lost lost{.dead = rank};
  sim::ItemService disk("disk", {Bytes{}});
  sim::Options options;
  options.ranks = ranks;
  options.services.push_back(&disk);
  options.faults.kills.push_back({.rank = rank, .at_call = call});
  sim::Core core(options);
  sim::run_fibers(core, [&](sim::FiberRank& self) {
    const auto at = static_cast<std::size_t>(self.rank);
    try {
      const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
      AskedStorage storage(core, self, files);
      body(*group, self.strands, storage, lost.at[at]);
    } catch (const Error& error) {
      lost.told[at] = error.what();
      throw;
    }
  });
  return lost;
}

// Loses each rank at each call that is part of what is tried. Returns how many these were.
int lose_each(const Body& body, const std::function<std::unique_ptr<MemoryStorage>()>& make,
              const std::function<void(const Lost&, MemoryStorage&)>& check) {
  int cases = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::int64_t call = 1;; ++call) {
      const auto files = make();
      const Lost lost = lose(rank, call, *files, body);
      const Part at = lost.at[static_cast<std::size_t>(rank)];
      if (at == Part::before) continue;
      if (at == Part::after) break;
      CAPTURE(rank, call, lost.told);
      for (int other = 0; other < ranks; ++other) {
        if (other == rank) continue;
        const auto place = static_cast<std::size_t>(other);
        CAPTURE(other);
        // Who had all that it needed from the dead one ends well.
        CHECK((lost.at[place] == Part::after) == lost.told[place].empty());
        if (!lost.told[place].empty()) {
          CHECK_THAT(lost.told[place], contains(text("rank ", rank)));
        }
      }
      check(lost, *files);
      ++cases;
    }
  }
  return cases;
}

const Placement shards{"FSDP on 3", {.dp = 3}, Engine::shards, {{Sharding::full_shard, 1}}, {}, 1};

}  // namespace

TEST_CASE(
    "lost peer: a rank that dies at any call of a save is named with the step, and the last "
    "commit loads") {
  for (const SaveForm form : {SaveForm::dense, SaveForm::sharded}) {
    for (const Saves when : {Saves::between_steps, Saves::beside_steps}) {
      CAPTURE(static_cast<int>(form), static_cast<int>(when));
      const auto body = [&](comm::ProcessGroup& group, Strands& strands,
                            checkpoint::Storage& storage, Part& at) {
        CpuDevice device;
        const auto strategy = made(shards, group, device);
        train::Saver saver(*strategy,
                           {.form = form,
                            .optimizer = "adamw",
                            .of_checkpoints = {.keep_last = 1},
                            .beside = when == Saves::beside_steps ? &strands : nullptr},
                           storage);
        const auto save = [&](std::int64_t step) {
          saver.save({.step = step, .taken = step});
          saver.finish();
        };
        save(2);
        group.barrier();
        at = Part::in;
        save(4);
        at = Part::after;
      };
      std::map<std::string, int> found;
      const int cases = lose_each(
          body, [] { return std::make_unique<MemoryStorage>(); },
          [&](const Lost& lost, MemoryStorage& files) {
            for (const std::string& told : lost.told_in()) {
              CHECK_THAT(told, contains("saving step 4"));
            }
            const auto latest = checkpoint::latest_in(files);
            REQUIRE(latest.has_value());
            ++found[*latest];
            CHECK_NOTHROW(content_of(files, *latest));
          });
      CHECK(cases > 60);
      CHECK(found["step_000002"] > 30);
      CHECK(found["step_000004"] > 3);
    }
  }
}

TEST_CASE(
    "lost peer: a rank that dies at any call of a load is named, and the storage is as it "
    "was") {
  MemoryStorage saved;
  run(shards, saved, 2, SaveForm::sharded);
  const std::uint64_t content = content_of(saved, "step_000002");
  const auto body = [&](comm::ProcessGroup& group, Strands&, checkpoint::Storage& storage,
                        Part& at) {
    CpuDevice device;
    const auto strategy = made(shards, group, device);
    at = Part::in;
    checkpoint::telling(group, "loading", [&] {
      checkpoint::load_for_all(group, storage,
                               [&](const checkpoint::SavedRun& from) { strategy->restore(from); });
      group.barrier();  // as the first step waits for all
    });
    at = Part::after;
  };
  const int cases = lose_each(
      body,
      [&] {
        auto files = std::make_unique<MemoryStorage>();
        copy(saved, *files);
        return files;
      },
      [&](const Lost& lost, MemoryStorage& files) {
        for (const std::string& told : lost.told_in()) CHECK_THAT(told, contains("was loading"));
        CHECK(content_of(files, "step_000002") == content);
      });
  CHECK(cases > 30);
}
