// Memory that ranks lend each other, when one of them fails while another is slow: it is not given
// out again, and what was read of it afterwards counts nowhere.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

#include "engine/comm/worlds/shm/membership.hpp"
#include "tests/catch.hpp"
#include "tests/comm/shm_ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;
using lockstep::test::error_of;
using lockstep::test::expect;
using lockstep::test::failures;
using lockstep::test::run_shm_threads;

namespace {

struct Reach : ProcessGroup {
  static void give_up(ProcessGroup& group, const std::string& why) { give_up_in(group, why); }
};

// A pipe that one rank reads when another one has written.
class Signal {
 public:
  Signal() {
    if (pipe(ends_) != 0) throw Error("no pipe");
  }
  void give() const {
    const char byte = 0;
    if (write(ends_[1], &byte, 1) != 1) _exit(9);
  }
  void await() const {
    char byte = 0;
    if (read(ends_[0], &byte, 1) != 1) _exit(9);
  }

 private:
  int ends_[2];
};

struct Signals {
  Signal is_held, may_go_on;
};

// Memory that holds up whoever writes to its end: says so, and lets go when it is told to. A signal
// handler knows nothing but what is static.
class HeldMemory {
 public:
  HeldMemory(std::size_t bytes, const Signals& signals) {
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(memory_, 0, bytes);
    held_ = memory_ + bytes / 8 * 7 / 4096 * 4096;
    held_bytes_ = static_cast<std::size_t>(memory_ + bytes - held_);
    signals_ = &signals;
    struct sigaction action {};
    action.sa_handler = let_wait;
    sigaction(SIGSEGV, &action, nullptr);
  }
  // From now on; until then its owner fills it.
  void hold() const { mprotect(held_, held_bytes_, PROT_READ); }
  Tensor tensor(std::int64_t count, Device& device) const {
    const std::shared_ptr<std::byte> kept(memory_, [](std::byte*) {});
    return over_memory(kept, {count}, DType::float32, device);
  }

 private:
  static void let_wait(int) {
    signals_->is_held.give();
    signals_->may_go_on.await();
    mprotect(held_, held_bytes_, PROT_READ | PROT_WRITE);
  }

  std::byte* memory_;
  static inline std::byte* held_ = nullptr;
  static inline std::size_t held_bytes_ = 0;
  static inline const Signals* signals_ = nullptr;
};

constexpr std::int64_t lent_count = 60'000;  // of a rank; not inlined, and one piece

struct Lending {
  const char* what;
  // Rank 0 lends `own`, which is the group's memory; rank 1 is held up while it writes its result.
  std::function<Work(ProcessGroup& group, const Tensor& own)> call;
};

const Lending lendings[] = {
    {"all_reduce",
     [](ProcessGroup& group, const Tensor& own) {
       return group.all_reduce_async(own.narrow(0, lent_count), ReduceOp::sum);
     }},
    {"broadcast",
     [](ProcessGroup& group, const Tensor& own) {
       return group.broadcast_async(own.narrow(0, lent_count), 0);
     }},
    {"reduce_scatter",
     [](ProcessGroup& group, const Tensor& own) {
       const Tensor all =
           group.rank() == 0 ? own : zeros({2 * lent_count}, DType::float32, own.device());
       return group.reduce_scatter_async(all, own.narrow(0, lent_count), ReduceOp::sum);
     }},
};

}  // namespace

TEST_CASE("shm: what a slow peer still uses when its call has failed is not given out again") {
  for (const Lending& lending : lendings) {
    const Signals signals;
    const auto outcomes = lockstep::test::run_shm(2, [&](ProcessGroup& world) -> std::string {
      const auto group = world.split(0, world.rank());
      CpuDevice device;
      if (world.rank() == 1) {
        const HeldMemory memory(lent_count * sizeof(float), signals);
        const Tensor own = memory.tensor(lent_count, device);
        memory.hold();
        Work work = lending.call(*group, own);
        const std::string error = error_of([&] { work.wait(); });
        world.barrier();
        return error;
      }
      Tensor own = world.allocate_buffer(2 * lent_count, DType::float32, device);
      own.fill_(1);
      {
        Work work = lending.call(*group, own);
        signals.is_held.await();
        Reach::give_up(*group, "rank 0 has had enough");
        const std::string error = error_of([&] { work.wait(); });
        expect(error.find("had enough") != std::string::npos, error);
      }
      own.fill_(7);  // as an owner may whose call has failed
      own = Tensor();
      const Tensor next = world.allocate_buffer(2 * lent_count, DType::float32, device);
      next.fill_(9);
      signals.may_go_on.give();
      world.barrier();
      for (std::int64_t i = 0; i < next.numel(); ++i) {
        expect(next.item(i) == 9, text("element ", i, " became ", next.item(i)));
      }
      return "";
    });
    INFO(lending.what);
    CHECK(failures(outcomes) == "");
    CHECK_THAT(outcomes[1].message, contains("rank 0 has had enough"));
  }
}

TEST_CASE("shm arena: a block goes back when it has been given as often as it was taken and held") {
  const auto segment = std::make_shared<shm::Segment>(shm::Layout{4096, 1 << 20, 1});
  shm::Arena arena(segment, 0);
  const std::uint64_t first = arena.take(100).value(), second = arena.take(8192).value();
  CHECK(arena.hold(second + 8191) == second);
  CHECK(arena.hold(first) == first);
  CHECK_FALSE(arena.hold(first - 1));
  CHECK_FALSE(arena.hold(second + 8192));
  arena.give(first);
  arena.give(second);
  CHECK(arena.take(100) != first);
  const std::uint64_t out = arena.bytes_out();
  arena.give(second);
  CHECK(arena.bytes_out() == out - 8192);
  CHECK(arena.take(8192) == second);
}

namespace {

// Two ranks of one process that meet over one segment, as members of one group.
struct Pair {
  std::shared_ptr<shm::Segment> segment = std::make_shared<shm::Segment>(
      shm::Layout{shm::Control::bytes_for(2), std::uint64_t{16} << 20, 2});
  std::shared_ptr<shm::Arena> arenas[2] = {std::make_shared<shm::Arena>(segment, 0),
                                           std::make_shared<shm::Arena>(segment, 1)};

  std::string error_of_rank(int rank, double meet_timeout_s) const {
    shm::Membership::Meeting meeting;
    meeting.arena = arenas[rank];
    meeting.control_at = segment->control_at();
    meeting.rank = rank;
    meeting.size = 2;
    meeting.name = "pair";
    meeting.meet_timeout_s = meet_timeout_s;
    return error_of([&] { const shm::Membership membership(meeting); });
  }
  // What was taken and not given, when what was lent has been asked for.
  std::uint64_t bytes_out(int rank) const {
    shm::Arena& arena = *arenas[rank];
    if (const auto block = arena.take(1)) arena.give(*block);
    return arena.bytes_out();
  }
};

// Rank 1 takes part in the first round of the split, and not in the second.
void fail_a_split(ProcessGroup& world, Device& device) {
  const auto group = world.split(0, world.rank());
  if (world.rank() == 0) {
    error_of([&] { group->split(0, 0); });
  } else {
    const Tensor mine = zeros({2}, DType::int64, device), all = zeros({4}, DType::int64, device);
    group->all_gather(mine, all);
    Reach::give_up(*group, "rank 1 has had enough");
  }
}

}  // namespace

TEST_CASE("shm: ranks that did not meet give their memory back when none can look at it any more") {
  const Pair pair;
  CHECK_THAT(pair.error_of_rank(0, 0.01), contains("rank 1 did not come within 0.01 s"));
  CHECK(pair.bytes_out(0) > 0);  // rank 1 may come yet
  CHECK_THAT(pair.error_of_rank(1, 30), contains("rank 0"));
  CHECK(pair.bytes_out(0) == 0);
  CHECK(pair.bytes_out(1) == 0);
}

TEST_CASE("shm: a rank without room for its slots is named, and its peer waits no longer") {
  const Pair pair;
  const auto all = pair.arenas[0]->take(pair.segment->arena_bytes());
  REQUIRE(all);
  CHECK_THAT(pair.error_of_rank(0, 30), contains("rank 0 has no room for its slots"));
  CHECK_THAT(pair.error_of_rank(1, 30), contains("rank 0"));
  pair.arenas[0]->give(*all);
  CHECK(pair.bytes_out(0) == 0);
  CHECK(pair.bytes_out(1) == 0);
}

TEST_CASE("shm: a split that fails gives its memory back with the group that it was of") {
  const auto outcomes = run_shm_threads(2, [](ProcessGroup& world) -> std::string {
    CpuDevice device;
    const std::byte* place = nullptr;
    for (int again = 0; again < 20; ++again) {
      fail_a_split(world, device);
      world.barrier();  // both have left
      const Tensor next = world.allocate_buffer(1 << 20, DType::float32, device);
      const std::byte* const its_place = next.raw_bytes().data();
      // The first one leaves a hole behind, which the others fill.
      expect(again < 2 || its_place == place, text("memory was lost in split ", again));
      place = its_place;
      world.barrier();
    }
    return "";
  });
  CHECK(failures(outcomes) == "");
}
