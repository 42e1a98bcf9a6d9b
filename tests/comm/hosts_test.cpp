// Ranks of several hosts: that shared memory and TCP together sum right, and that a failure on one
// host is known on the others soon. The hosts are names; all ranks are on this machine.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;
using lockstep::test::error_of;
using lockstep::test::expect;
using lockstep::test::failures;
using lockstep::test::ones;
using lockstep::test::run_on_hosts;
using lockstep::test::run_processes;

namespace {

// Generous: the machine may be busy. A deadline would be 30.
constexpr double soon_s = 15;

}  // namespace

TEST_CASE("hosts: sums, broadcasts and barriers cross them, in order, blocking or not") {
  const int ranks = GENERATE(2, 3, 4, 7), hosts = GENERATE(2, 3);
  if (hosts > ranks) return;
  const auto outcomes = run_on_hosts(ranks, hosts, [](ProcessGroup& group) -> std::string {
    CpuDevice device;
    const int n = group.size(), me = group.rank();
    for (const std::int64_t count : {0, 1, 1009, 100'003}) {
      const Tensor sum = full({count}, me + 1, DType::float32, device);
      const Tensor most = group.allocate_buffer(count, DType::int64, device);
      for (std::int64_t& element : most.data<std::int64_t>()) element = me;
      Work first = group.all_reduce_async(sum, ReduceOp::sum);
      Work second = group.all_reduce_async(most, ReduceOp::max);
      first.wait();
      second.wait();
      for (const float element : sum.data<float>()) {
        expect(element == static_cast<float>(n * (n + 1) / 2), "a wrong sum");
      }
      for (const std::int64_t element : most.data<std::int64_t>()) {
        expect(element == n - 1, "not the largest");
      }
      for (int root = 0; root < n; ++root) {
        const Tensor data = full({count}, me, DType::int32, device);
        group.broadcast(data, root);
        for (const std::int32_t element : data.data<std::int32_t>()) {
          expect(element == root, "not the root's");
        }
      }
      group.barrier();
    }
    return "";
  });
  CHECK(failures(outcomes) == "");
}

TEST_CASE("hosts: when a rank is killed, the ranks of all hosts learn it soon") {
  const auto outcomes = run_on_hosts(4, 2, [](ProcessGroup& group) -> std::string {
    CpuDevice device;
    group.all_reduce(ones(10, DType::float32, device), ReduceOp::sum);
    if (group.rank() == 3) {
      kill(getpid(), SIGKILL);
      std::abort();
    }
    return error_of([&] { group.all_reduce(ones(10, DType::float32, device), ReduceOp::sum); });
  });
  for (int rank = 0; rank < 3; ++rank) {
    const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    CHECK(outcome.ok);
    CHECK(outcome.seconds < soon_s);
    CHECK_THAT(outcome.message, contains("rank 3 does not answer"));
  }
}

TEST_CASE("hosts: ranks that call different things are told which, within a host and between") {
  const int odd_one = GENERATE(1, 2);  // with rank 0 on host 0: rank 2
  const auto outcomes = run_on_hosts(4, 2, [odd_one](ProcessGroup& group) -> std::string {
    CpuDevice device;
    const std::int64_t count = group.rank() == odd_one ? 11 : 10;
    return error_of([&] { group.all_reduce(ones(count, DType::float32, device), ReduceOp::sum); });
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.ok);
    CHECK(outcome.seconds < soon_s);
    CHECK_THAT(outcome.message, contains("all_reduce (sum) of 10 float32"));
    CHECK_THAT(outcome.message, contains("all_reduce (sum) of 11 float32"));
  }
}

TEST_CASE("hosts: --transport shm refuses ranks of several hosts and says what to pass") {
  const auto outcomes = run_processes(2, [](Store& store, int rank) -> std::string {
    GlooOptions options;
    options.transport = Transport::shm;
    options.node = text(rank);
    try {
      make_gloo_group(store, rank, 2, options);
    } catch (const UsageError& error) {
      return error.what();
    }
    throw Error("accepted");
  });
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[1].message, contains("rank 1 is on \"node 1\" and rank 0 on \"node 0\""));
  CHECK_THAT(outcomes[1].message, contains("--transport auto"));
}
