// What errors call the ranks of groups, of the world and of groups that were split from it.
#include "engine/comm/rank_names.hpp"

#include "engine/comm/sub_peers.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;
using lockstep::test::error_of;
using lockstep::test::Outcome;
using lockstep::test::refusal_of;

namespace {

// On four ranks.
std::vector<Outcome> on(Transport transport, const test::RankGroup& body) {
  return test::run_gloo(4, body, test::late_s, transport);
}

}  // namespace

TEST_CASE(
    "rank names: in the world, or in a group that is all of it in order, a number is enough") {
  for (const RankNames& names : {RankNames(), RankNames({0, 1, 2}), RankNames().of({0, 1})}) {
    CHECK(names.name(1) == "rank 1");
    CHECK(names.place(1, 3) == "rank 1 of 3");
    CHECK(names.list({0, 1}) == "ranks 0, 1");
    CHECK(names.global_name(1) == "");
  }
}

TEST_CASE("rank names: a group that was split off, and one split from that, name both numbers") {
  const RankNames odd = RankNames().of({1, 3, 5});
  CHECK(odd.name(1) == "rank 1 (rank 3 of the world)");
  CHECK(odd.place(2, 3) == "rank 2 of 3 (rank 5 of the world)");
  CHECK(odd.list({2}) == "rank 2 (rank 5 of the world)");
  CHECK(odd.list({0, 2}) == "ranks 0, 2 (1, 5 of the world)");
  CHECK(odd.of({2, 0}).name(1) == "rank 1 (rank 1 of the world)");
  CHECK(odd.of({2, 0}).name(0) == "rank 0 (rank 5 of the world)");
}

TEST_CASE("rank names: where a rank knows its own number only, it says no other's") {
  const RankNames own(1, 6);
  CHECK(own.name(1) == "rank 1 (rank 6 of the world)");
  CHECK(own.name(0) == "rank 0");
  CHECK(own.list({0, 1}) == "ranks 0, 1");
  CHECK(own.of({1}).name(0) == "rank 0 (rank 6 of the world)");
  CHECK(own.of({0}).name(0) == "rank 0");
}

TEST_CASE("rank names: what a rank of a split group is refused has both of its numbers") {
  const auto transport = GENERATE(Transport::shm, Transport::gloo);
  const auto outcomes = on(transport, [](ProcessGroup& world) -> std::string {
    CpuDevice device;
    const auto half = world.split(world.rank() % 2, -world.rank());
    SubPeers peers(*half, {1, 0});
    const Tensor data = zeros({3}, DType::float32, device);
    return refusal_of([&] { half->broadcast(data, 2); }) + refusal_of([&] { peers.send(data, 9); });
  });
  CHECK_THAT(outcomes[1].message,
             contains("broadcast: root 2 is not in this group of 2 ranks (0 to 1), asked by rank 1 "
                      "(rank 1 of the world)") &&
                 contains("send: rank 9 is not in this group of 2 ranks (0 to 1), asked by rank 0 "
                          "(rank 1 of the world)"));
  CHECK_THAT(outcomes[2].message, contains("asked by rank 0 (rank 2 of the world)"));
}

TEST_CASE("rank names: on the simulator, a rank is refused with both of its numbers, too") {
  std::string told;
  sim::Options options;
  options.ranks = 4;
  sim::Core core(options);
  sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto world = make_sim_group(self.port, self.rank, self.ranks);
    const auto half = world->split(self.rank % 2, 0);
    if (self.rank != 3) return;
    told = refusal_of([&] { half->send(zeros({3}, DType::float32, device), 1); });
  });
  CHECK_THAT(told, contains("rank 1 (rank 3 of the world) names itself as the peer"));
}

TEST_CASE("rank names: ranks of a split group that differ, or leave, have both their numbers") {
  const auto transport = GENERATE(Transport::shm, Transport::gloo);
  const auto call = GENERATE(0, 1, 2);
  CAPTURE(call);
  const auto outcomes = on(transport, [&](ProcessGroup& world) -> std::string {
    CpuDevice device;
    const auto half = world.split(world.rank() % 2, 0);
    const int rank = half->rank();
    if (call == 2 && rank == 1) return "";
    return error_of([&] {
      const Tensor data = zeros({5 + rank}, DType::float32, device);
      if (call == 0) half->all_reduce(data, ReduceOp::sum);
      if (call == 1) half->split(0, 0)->all_reduce(data, ReduceOp::sum);
      if (call == 2) half->recv(data, 1);
    });
  });
  for (int rank = 0; rank < 4; ++rank) {
    CAPTURE(rank, outcomes[static_cast<std::size_t>(rank)].message);
    if (call == 2 && rank >= 2) continue;
    const auto has = [&](int of) { return contains(text("(rank ", of, " of the world")); };
    CHECK_THAT(outcomes[static_cast<std::size_t>(rank)].message,
               has(rank % 2) && has(2 + rank % 2));
  }
}
