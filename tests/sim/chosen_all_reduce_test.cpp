// An all-reduce made of messages, chosen for a group, while the rank does something else: on a
// strand of its own, in virtual time.
#include "engine/collectives/all_reduce_choice.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;

namespace {

// The ring over messages, on links of 8 bytes a second without latency. Tensors are on the test's
// device, which costs nothing.
struct Rank {
  sim::FiberRank& self;
  ProcessGroup& ring;
  CpuDevice& device;

  Tensor ones(std::int64_t count) const { return full({count}, 1, DType::float32, device); }
  void compute(double seconds) const { self.port.compute(seconds); }
};

// A world that serves something goes by virtual time, one strand after the other.
struct Nothing final : sim::Service {
  std::string_view name() const override { return "nothing"; }
  std::optional<Answer> serve(const sim::Actor&, const sim::Request&, double) override {
    return std::nullopt;
  }
};

std::string run(int ranks, const std::function<void(Rank)>& program, std::uint64_t seed = 0,
                std::vector<sim::Service*> services = {}, const sim::Faults& faults = {}) {
  sim::Options options;
  options.services = std::move(services);
  options.faults = faults;
  options.ranks = ranks;
  options.network.latency_s = options.network.gap_s = 0;
  options.network.bandwidth_bytes_s = 8;
  options.seed = seed;
  sim::Core core(options);
  CpuDevice device;
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    const auto group = make_sim_group(self.port, self.rank, self.ranks);
    const auto ring =
        collectives::with_all_reduce(*group, collectives::AllReduce::ring, self.strands);
    program({self, *ring, device});
  });
  return result.finding ? result.finding->message : "";
}

}  // namespace

// Two buckets of 16 bytes on two ranks: two messages of 8 bytes one after the other, 2 s a bucket.
// Work of 3 s before each: the first travels from 3 to 5, the second from 6 to 8.
TEST_CASE("chosen all-reduce: what is not waited for runs beside the work") {
  const std::uint64_t seed = GENERATE(0, 1, 2);
  Nothing nothing;
  const auto services =
      GENERATE_REF(std::vector<sim::Service*>{}, std::vector<sim::Service*>{&nothing});
  CHECK(run(
            2,
            [](Rank rank) {
              const Tensor first = rank.ones(4), second = rank.ones(4);
              rank.compute(3);
              Work one = rank.ring.all_reduce_async(first, ReduceOp::sum);
              rank.compute(3);
              Work two = rank.ring.all_reduce_async(second, ReduceOp::sum);
              one.wait();
              CHECK(rank.ring.now_s() == 6);
              two.wait();
              CHECK(rank.ring.now_s() == 8);
              CHECK(one.ran_s() == 2);
              CHECK(two.ran_s() == 2);
              CHECK(first.item(3) == 2);
              CHECK(second.item(0) == 2);
            },
            seed, services) == "");
  CHECK(run(
            2,
            [](Rank rank) {
              for (int bucket = 0; bucket < 2; ++bucket) {
                rank.compute(3);
                rank.ring.all_reduce(rank.ones(4), ReduceOp::sum);
              }
              CHECK(rank.ring.now_s() == 10);
            },
            seed, services) == "");
}

// Rank 1 computes 3 s as 6 s: the bucket of both travels from 6 to 8, and waiting is not slower.
TEST_CASE("chosen all-reduce: a slow rank is late, and waits no longer than the others") {
  sim::Faults faults;
  faults.slow.push_back({1, 2});
  CHECK(run(
            2,
            [](Rank rank) {
              rank.compute(3);
              Work work = rank.ring.all_reduce_async(rank.ones(4), ReduceOp::sum);
              work.wait();
              CHECK(rank.ring.now_s() == 8);
            },
            0, {}, faults) == "");
}

TEST_CASE("chosen all-reduce: those that were started run one after the other, in order") {
  const int n = GENERATE(1, 2, 3, 4, 5, 7, 8);
  CHECK(run(n, [&](Rank rank) {
          std::vector<Tensor> data;
          std::vector<Work> works;
          for (const std::int64_t count : {0, 1, 7, 100}) {
            data.push_back(rank.ones(count));
            works.push_back(rank.ring.all_reduce_async(data.back(), ReduceOp::sum));
          }
          rank.ring.all_reduce(data.emplace_back(rank.ones(13)), ReduceOp::sum);
          for (std::size_t i = works.size(); i-- > 0;) works[i].wait();
          for (const Tensor& one : data) {
            for (const float value : one.data<float>()) CHECK(value == static_cast<float>(n));
          }
        }) == "");
}

TEST_CASE("chosen all-reduce: the rank's own messages are never taken for the part's") {
  CHECK(run(2, [](Rank rank) {
          const Tensor sum = rank.ones(50), mine = full({25}, 7, DType::float32, rank.device);
          Work work = rank.ring.all_reduce_async(sum, ReduceOp::sum);
          const int other = 1 - rank.self.rank;
          Work sent = rank.ring.isend(mine, other);
          const Tensor theirs = rank.ones(25);
          rank.ring.recv(theirs, other);
          sent.wait();
          work.wait();
          CHECK(theirs.item(24) == 7);
          CHECK(sum.item(49) == 2);
        }) == "");
}

TEST_CASE("chosen all-reduce: a rank that fails meanwhile is the cause that is named") {
  const int failing = GENERATE(0, 2);
  const std::string why = run(3, [&](Rank rank) {
    Work work = rank.ring.all_reduce_async(rank.ones(30), ReduceOp::sum);
    if (rank.self.rank == failing) throw Error("no more of this");
    work.wait();
    rank.ring.barrier();
  });
  CHECK_THAT(why, contains(text("rank ", failing, " threw: no more of this")));
}

TEST_CASE("chosen all-reduce: ranks that sum in different orders are stuck, and it is said") {
  const std::string why = run(2, [&](Rank rank) {
    Work work = rank.ring.all_reduce_async(rank.ones(rank.self.rank == 0 ? 4 : 6), ReduceOp::sum);
    work.wait();
  });
  CHECK_THAT(why, contains("mismatch"));
}
