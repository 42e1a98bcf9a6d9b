// A service ends the world: all ranks at once, between two calls.
#include "engine/sim/hosts/process_host.hpp"
#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

namespace world_ends {

// Blows at its third call.
struct Fuse final : Service {
  std::string_view name() const override { return "fuse"; }
  std::optional<Answer> serve(const Actor&, const Request&, double now) override {
    if (++calls == 3) throw WorldEnds{"the fuse has blown"};
    return Answer{{}, now + 1};
  }
  int calls = 0;
};

// Answers nobody, and blows two seconds later.
struct SlowFuse final : Service {
  std::string_view name() const override { return "fuse"; }
  std::optional<Answer> serve(const Actor&, const Request&, double) override { return {}; }
  double deadline_s(const Request&, double asked_s) const override { return asked_s + 2; }
  Answer expire(const Actor&, const Request&, double) override { throw WorldEnds{}; }
};

Options with(Service& service, int ranks, std::uint64_t seed = 0) {
  Options options = world(ranks, seed);
  options.services = {&service};
  return options;
}

Request ask_fuse() {
  Request request = request_of(Op::service, 31);
  request.name = "fuse";
  return request;
}

Request busy(double seconds) {
  Request request = request_of(Op::compute, 30);
  request.seconds = seconds;
  return request;
}

Bytes input(const std::string& what) {
  ByteWriter out;
  out.put_text(what);
  return out.take();
}

}  // namespace world_ends

}  // namespace

TEST_CASE("the world ends: nobody is answered any more, and nothing is found") {
  world_ends::Fuse fuse;
  const std::uint64_t seed = GENERATE(0, 1, 2, 3);
  Core core(world_ends::with(fuse, 5, seed));
  const Request ask = world_ends::ask_fuse();
  // Rank 3 leaves a message behind that nobody receives; rank 4 is over before the end.
  const auto replies =
      run(core, {list({collective(Collective::barrier, {})}), list({world_ends::busy(100)}),
                 list({ask, ask, ask, ask}), list({message(Op::isend, 0, 1), world_ends::busy(50)}),
                 list({world_ends::busy(1)})});
  CHECK(core.finished());
  if (core.finding()) FAIL(core.finding()->message);
  CHECK(fuse.calls == 3);
  CHECK(replies[0].empty());
  CHECK(replies[1].empty());
  CHECK(replies[2].size() == 2);
  CHECK(replies[4].size() == 1);
  CHECK(core.gone(2) == "the fuse has blown");
  CHECK(core.gone(4).empty());
  CHECK(core.counters().ranks[2].clock_s == Approx(2));
}

TEST_CASE("the world ends at a deadline") {
  world_ends::SlowFuse fuse;
  Core core(world_ends::with(fuse, 2));
  run(core, {list({world_ends::ask_fuse()}), list({world_ends::busy(3), world_ends::busy(1)})});
  CHECK(core.finished());
  CHECK_FALSE(core.finding());
  CHECK(core.counters().ranks[0].clock_s == Approx(2));
}

TEST_CASE("the world ends: ranks that are not over are gone, and new players play the next case") {
  PlayerLimits limits;
  limits.memory_bytes = std::int64_t{LOCKSTEP_PLAYER_MEMORY_MIB} << 20;  // 0 under a sanitizer
  ProcessHost host({LOCKSTEP_TEST_PLAYER}, 4, limits);
  const auto processes = [&] {
    Core core(world(4));
    std::vector<std::int64_t> all;
    for (const Bytes& result :
         host.run(core, std::vector<Bytes>(4, world_ends::input("who"))).results) {
      all.push_back(ByteReader(result).get<std::int64_t>());
    }
    return all;
  };
  const auto before = processes();
  for (int repeat = 0; repeat < 2; ++repeat) {
    world_ends::Fuse fuse;
    Core core(world_ends::with(fuse, 4));
    const auto result =
        host.run(core, std::vector<Bytes>(4, world_ends::input("waits for the end")));
    if (result.finding) FAIL(result.finding->message);
    CHECK(fuse.calls == 3);
    CHECK(result.killed == std::vector<int>{0, 1, 2});
    CHECK_FALSE(result.results[3].empty());
    CHECK(host.usable());
  }
  const auto after = processes();
  for (const std::size_t rank : {0, 1, 2}) CHECK(before[rank] != after[rank]);
  CHECK(before[3] == after[3]);
}
