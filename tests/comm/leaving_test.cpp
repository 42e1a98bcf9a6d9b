// Ranks that leave as soon as they can: a group is whole on every rank before any rank has it, so
// who leaves at once fails nobody, and neither does a rank that has done its part of an operation.
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::expect;
using lockstep::test::failures;
using lockstep::test::RankGroup;
using lockstep::test::run_gloo;
using lockstep::test::run_on_hosts;

namespace {

// On every kind of group: over TCP, in shared memory, and across two hosts.
void check_everywhere(int ranks, const RankGroup& body) {
  constexpr double timeout_s = test::late_s;
  CHECK(failures(lockstep::test::run_gloo(ranks, body, timeout_s, Transport::gloo)) == "");
  CHECK(failures(lockstep::test::run_gloo(ranks, body, timeout_s, Transport::shm)) == "");
  CHECK(failures(run_on_hosts(ranks, 2, body, timeout_s)) == "");
}

}  // namespace

TEST_CASE("leaving: a rank that refuses at once is not missed by those that still come") {
  const int ranks = GENERATE(2, 3, 4, 8);
  check_everywhere(ranks, [](ProcessGroup&) { return ""; });
}

TEST_CASE("leaving: a rank that throws at once does not end the others' making of the group") {
  const int ranks = GENERATE(2, 3, 4, 8);
  const auto throws_on_one = [](ProcessGroup& group) -> std::string {
    if (group.rank() == 0) throw Error("refused");
    return "";
  };
  constexpr double timeout_s = test::late_s;
  const std::string expected = "rank 0: refused\n";
  CHECK(failures(lockstep::test::run_gloo(ranks, throws_on_one, timeout_s, Transport::gloo)) ==
        expected);
  CHECK(failures(lockstep::test::run_gloo(ranks, throws_on_one, timeout_s, Transport::shm)) ==
        expected);
  CHECK(failures(run_on_hosts(ranks, 2, throws_on_one, timeout_s)) == expected);
}

TEST_CASE("leaving: a split that is dropped at once fails none of its members") {
  const int ranks = GENERATE(2, 3, 4, 8);
  check_everywhere(ranks, [](ProcessGroup& group) {
    for (int again = 0; again < 3; ++again) group.split(again == 2 ? 0 : group.rank() % 2, 0);
    return "";
  });
}

TEST_CASE("leaving: a rank that has waited leaves, and its peers still wait for what it sent") {
  const int ranks = GENERATE(2, 3, 4, 8);
  check_everywhere(ranks, [](ProcessGroup& group) {
    CpuDevice device;
    const int n = group.size(), me = group.rank();
    const Tensor sum = full({1000}, me, DType::int64, device);
    const Tensor in = full({70'000}, -1, DType::float32, device);
    const Tensor out = full({70'000}, me, DType::float32, device);
    Work first = group.all_reduce_async(sum, ReduceOp::sum);
    Work arriving = group.irecv(in, (me + n - 1) % n, 5);
    Work leaving = group.isend(out, (me + 1) % n, 5);
    if (me % 2 == 1) {
      // What this rank has not waited for is under way, or here, while its peers leave.
      volatile double slow = 0;
      for (int i = 0; i < 5'000'000; ++i) slow = slow + i;
    }
    first.wait();
    leaving.wait();
    arriving.wait();
    expect(sum.item(999) == n * (n - 1) / 2.0, "a wrong sum");
    expect(in.item(69'999) == (me + n - 1) % n, "not the neighbour's");
    return "";
  });
}

// Long enough for a look at who is gone.
TEST_CASE("leaving: ranks that leave fail nobody who waits long, for them or for another") {
  const auto outcomes = lockstep::test::run_processes(3, [](Store& store, int rank) -> std::string {
    const auto group = make_gloo_group(store, rank, 3, {.transport = Transport::gloo});
    CpuDevice device;
    const Tensor data = full({70'000}, rank, DType::float32, device);
    if (rank == 0) {
      group->recv(data, 1);
      expect(data.item(69'999) == 1, "not rank 1's");
    }
    if (rank == 1) {
      const std::vector<std::string> never{"never"};
      lockstep::test::error_of([&] { store.wait(never, 1.8); });
      group->send(data, 0);
    }
    return "";
  });
  CHECK(failures(outcomes) == "");
}
