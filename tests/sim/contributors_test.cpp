// Sets of contributors instead of numbers: what proves a sum, and what shows that it is wrong.
#include "engine/tensor/contributors.hpp"

#include "engine/collectives/halving_doubling_all_reduce.hpp"
#include "engine/collectives/naive_all_reduce.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/tree_all_reduce.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

struct Rank {
  ProcessGroup& group;
  ContributorDevice& device;
};

// The first thing that went wrong, or nothing.
std::string run(int ranks, const std::function<void(Rank&)>& program) {
  ContributorWorld world;
  std::vector<std::unique_ptr<ContributorDevice>> devices;
  for (int rank = 0; rank < ranks; ++rank) {
    devices.push_back(std::make_unique<ContributorDevice>(world, rank));
  }
  sim::Options options;
  options.ranks = ranks;
  options.limits.bytes_max = std::int64_t{1} << 60;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    const auto group = make_sim_group(self.port, self.rank, self.ranks);
    Rank rank{*group, *devices[static_cast<std::size_t>(self.rank)]};
    program(rank);
  });
  return result.finding ? result.finding->message : "";
}

using Part = void (*)(Peers&, Tensor, ReduceOp);

std::string proof_of(Part part, int ranks, std::int64_t count) {
  return run(ranks, [&](Rank& self) {
    const Tensor data = full({count}, 1, DType::float32, self.device);
    part(self.group, data, ReduceOp::sum);
    self.device.expect_all(data, self.group.size());
  });
}

}  // namespace

TEST_CASE("contributors: every all-reduce holds each rank once in each element, of any count") {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 64}) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{ranks} - 1,
                                     std::int64_t{13}, std::int64_t{1} << 33}) {
      INFO(ranks << " ranks, " << count << " elements");
      CHECK(proof_of(collectives::naive_all_reduce, ranks, count) == "");
      CHECK(proof_of(collectives::ring_all_reduce, ranks, count) == "");
      CHECK(proof_of(collectives::tree_all_reduce, ranks, count) == "");
      CHECK(proof_of(collectives::halving_doubling_all_reduce, ranks, count) == "");
    }
  }
}

TEST_CASE("contributors: a contribution that is added twice is named when it is added") {
  const std::string said = run(3, [](Rank& self) {
    const Tensor data = full({4}, 1, DType::float32, self.device), theirs = data.empty_like(4);
    if (self.group.rank() == 1) self.group.send(data, 0);
    if (self.group.rank() != 0) return;
    self.group.recv(theirs, 1);
    data.reduce_(theirs, ReduceOp::sum);
    data.narrow(2, 1).reduce_(theirs.narrow(2, 1), ReduceOp::sum);
  });
  CHECK(said ==
        "rank 0 threw: rank 1's contribution is there twice: in ranks 0 to 1, and in rank 1 that "
        "is added to it");
}

TEST_CASE("contributors: elements in which a rank is missing are named") {
  const std::string said = run(3, [](Rank& self) {
    const Tensor data = full({10}, 1, DType::float32, self.device);
    if (self.group.rank() == 1) self.group.send(data.narrow(0, 6), 0);
    if (self.group.rank() != 0) return;
    const Tensor theirs = data.empty_like(6);
    Work receiving = self.group.irecv(theirs, 1);
    receiving.wait();
    data.narrow(0, 6).reduce_(theirs, ReduceOp::sum);
    self.device.expect_all(data.narrow(0, 6), 2);
    self.device.expect_all(data, 2);
  });
  CHECK(said ==
        "rank 0 threw: elements 6 to 9 on rank 0 hold contributions of rank 0, not of each of the "
        "2 ranks once");
}

TEST_CASE("contributors: zeros add nobody, and copies carry who is in them") {
  const std::string said = run(2, [](Rank& self) {
    const Tensor sum = zeros({5}, DType::int64, self.device);
    const Tensor mine = full({5}, 3, DType::int64, self.device);
    sum.reduce_(mine, ReduceOp::sum);
    const Tensor copy = sum.clone();
    const Tensor theirs = copy.empty_like(5);
    Work sending = self.group.isend(copy, 1 - self.group.rank());
    self.group.recv(theirs, 1 - self.group.rank());
    sending.wait();
    sum.reduce_(theirs, ReduceOp::sum);
    self.device.expect_all(sum, 2);
  });
  CHECK(said == "");
}
