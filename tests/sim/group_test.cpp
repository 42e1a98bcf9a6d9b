// The process group of the simulated world, over a core in this process.
#include "engine/comm/worlds/sim/sim_group.hpp"

#include <memory>

#include "engine/tensor/symbolic.hpp"
#include "tests/catch.hpp"
#include "tests/sim/thread_host.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::ThreadHost;

namespace {

// Runs a program of (group, device) on every rank; the core's finding, if any.
struct World {
  explicit World(int ranks) : core(options_of(ranks)) {}

  void run(const std::function<void(ProcessGroup&, Device&)>& program) {
    ThreadHost host(core);
    host.run([&](sim::Port& port, int rank) {
      CpuDevice device;
      auto group = make_sim_group(port, rank, core.ranks());
      program(*group, device);
    });
    for (int rank = 0; rank < core.ranks(); ++rank) failures.push_back(host.failure(rank));
  }

  static sim::Options options_of(int ranks) {
    sim::Options options;
    options.ranks = ranks;
    return options;
  }

  sim::Core core;
  std::vector<std::string> failures;
};

Tensor tensor_of(const std::vector<double>& values, Device& device, DType dtype = DType::float32) {
  return from_values(values, {static_cast<std::int64_t>(values.size())}, dtype, device);
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.item(i));
  return values;
}

void check_passed(const World& world) {
  if (world.core.finding()) FAIL(world.core.finding()->message);
}

}  // namespace

TEST_CASE("sim group: room that irecv is posted for holds nothing of before, where that is asked") {
  const PostedRoom posted = GENERATE(PostedRoom::kept, PostedRoom::scribbled);
  World world(2);
  double read = 0, arrived = 0;
  ThreadHost host(world.core);
  host.run([&](sim::Port& port, int rank) {
    CpuDevice device;
    auto whole = make_sim_group(port, rank, 2, posted);
    auto group = whole->split(0, rank);
    const Tensor room = tensor_of({7}, device);
    if (rank == 1) return group->send(room, 0);
    Work receiving = group->irecv(room, 1);
    read = room.item(0);
    receiving.wait();
    arrived = room.item(0);
  });
  check_passed(world);
  CHECK((read == 7) == (posted == PostedRoom::kept));
  CHECK(arrived == 7);
}

TEST_CASE("sim group: a ring of isend and irecv turns, in every dtype") {
  const int n = GENERATE(2, 3, 4, 5, 7, 8);
  const DType dtype = GENERATE(from_range(all_dtypes));
  World world(n);
  std::vector<std::vector<double>> got(static_cast<std::size_t>(n));
  world.run([&](ProcessGroup& group, Device& device) {
    const int right = (group.rank() + 1) % n, left = (group.rank() + n - 1) % n;
    const Tensor mine = tensor_of({1.0 * group.rank(), 7}, device, dtype);
    const Tensor theirs = mine.empty_like(2);
    theirs.fill_(99);
    Work out = group.isend(mine, right, 3);
    Work in = group.irecv(theirs, left, 3);
    in.wait();
    out.wait();
    got[static_cast<std::size_t>(group.rank())] = values_of(theirs);
    CHECK(group.traffic().messages_sent == 1);
    CHECK(group.traffic().bytes_sent == static_cast<std::int64_t>(2 * bytes_of(dtype)));
  });
  check_passed(world);
  for (int rank = 0; rank < n; ++rank) {
    CHECK(got[static_cast<std::size_t>(rank)] ==
          std::vector<double>{1.0 * ((rank + n - 1) % n), 7});
  }
  CHECK(world.core.counters().depth == 1);
}

TEST_CASE("sim group: collectives, at once and later, and empty ones") {
  const int n = GENERATE(1, 2, 3, 5, 8);
  World world(n);
  world.run([&](ProcessGroup& group, Device& device) {
    const Tensor sum = tensor_of({1.0 * group.rank(), 1}, device);
    Work later = group.all_reduce_async(sum, ReduceOp::sum);
    const Tensor told = tensor_of({group.rank() == n - 1 ? 5.0 : 0.0}, device);
    group.broadcast(told, n - 1);
    const Tensor all = zeros({n}, DType::float32, device);
    group.all_gather(tensor_of({2.0 * group.rank()}, device), all);
    group.barrier();
    later.wait();
    group.all_reduce(tensor_of({}, device), ReduceOp::max);
    CHECK(values_of(sum) == std::vector<double>{n * (n - 1) / 2.0, 1.0 * n});
    CHECK(values_of(told) == std::vector<double>{5});
    for (int rank = 0; rank < n; ++rank) CHECK(all.item(rank) == 2.0 * rank);
    CHECK(group.traffic().modelled);
  });
  check_passed(world);
  CHECK(world.core.counters().ranks[0].collectives == 5);
}

TEST_CASE("sim group: symbolic tensors take the same time and traffic as real ones") {
  const int n = GENERATE(2, 3, 5);
  const auto seconds = [&](auto make_device) {
    World world(n);
    world.run([&](ProcessGroup& group, Device&) {
      const auto device = make_device();
      const Tensor mine = full({100}, group.rank(), DType::bfloat16, *device);
      const Tensor theirs = mine.empty_like(100);
      Work out = group.isend(mine, (group.rank() + 1) % n);
      Work in = group.irecv(theirs, (group.rank() + n - 1) % n);
      in.wait();
      out.wait();
      group.all_reduce(theirs, ReduceOp::sum);
      group.all_gather(theirs, mine.empty_like(100 * n));
      group.broadcast(mine, n - 1);
      if (device->has_numbers()) CHECK(theirs.item() == n * (n - 1) / 2);
    });
    check_passed(world);
    const auto& counters = world.core.counters();
    CHECK(counters.messages.size() == static_cast<std::size_t>(n));
    CHECK(counters.messages.front().bytes == 200);
    return counters.collectives.back().done_s;
  };
  CHECK(seconds([] { return std::make_unique<SymbolicDevice>(); }) ==
        seconds([] { return std::make_unique<CpuDevice>(); }));
}

TEST_CASE("sim group: a message without numbers does not fill a tensor that has some") {
  World world(2);
  world.run([](ProcessGroup& group, Device& device) {
    SymbolicDevice symbolic;
    if (group.rank() == 0) group.send(zeros({3}, DType::float32, symbolic), 1);
    if (group.rank() == 1) group.recv(zeros({3}, DType::float32, device), 0);
  });
  CHECK_THAT(world.failures[1], test::contains("received 0 bytes for a tensor of 12"));
}

TEST_CASE("sim group: an empty tensor sends no message and receives none") {
  World world(2);
  world.run([](ProcessGroup& group, Device& device) {
    const Tensor empty = tensor_of({}, device);
    if (group.rank() == 0) group.send(empty, 1);
    CHECK(group.isend(empty, 1 - group.rank()).complete());
  });
  check_passed(world);
  CHECK(world.core.counters().messages.empty());
}

TEST_CASE("sim group: split groups order by key, and send among themselves") {
  World world(5);
  world.run([](ProcessGroup& group, Device& device) {
    const int color = group.rank() == 4 ? ProcessGroup::no_color : group.rank() % 2;
    const auto half = group.split(color, -group.rank());
    if (color == ProcessGroup::no_color) {
      CHECK(half == nullptr);
      return;
    }
    REQUIRE(half);
    CHECK(half->size() == 2);
    CHECK(half->rank() == (group.rank() < 2 ? 1 : 0));
    const Tensor value = tensor_of({1.0 * group.rank()}, device);
    half->all_reduce(value, ReduceOp::sum);
    CHECK(value.item() == (color == 0 ? 2.0 : 4.0));
    if (half->rank() == 0) {
      half->send(value, 1);
    } else {
      half->recv(value, 0);
    }
  });
  check_passed(world);
}

TEST_CASE("sim group: arguments that make no sense are refused before anything is sent") {
  World world(2);
  world.run([](ProcessGroup& group, Device& device) {
    const Tensor one = tensor_of({1}, device);
    CHECK_THROWS_WITH(group.send(one, 2), test::contains("rank 2 is not in this group of 2"));
    CHECK_THROWS_WITH(group.recv(one, group.rank()), test::contains("names itself"));
    CHECK_THROWS_WITH(group.send(one, 1 - group.rank(), -1), test::contains("tag -1"));
    CHECK_THROWS_WITH(group.broadcast(one, 7), test::contains("root 7"));
    CHECK_THROWS_WITH(group.all_gather(one, one), test::contains("need room for 2"));
    CHECK_THROWS_AS(group.all_reduce({}, ReduceOp::sum), ContractError);
    CHECK_THROWS_AS(group.split(-2, 0), ContractError);
  });
  check_passed(world);
  CHECK(world.core.counters().messages.empty());
}

TEST_CASE("sim group: a buffer written while it is being sent or received is found") {
  const std::string which = GENERATE("isend", "irecv", "all_reduce");
  World world(2);
  world.run([&](ProcessGroup& group, Device& device) {
    const Tensor data = tensor_of({1, 2, 3}, device);
    const int peer = 1 - group.rank();
    Work work = which == "all_reduce" ? group.all_reduce_async(data, ReduceOp::sum)
                : (group.rank() == 0) == (which == "isend") ? group.isend(data, peer)
                                                            : group.irecv(data, peer);
    if (group.rank() == 0) data.narrow(1, 1).fill_(9);
    work.wait();
  });
  REQUIRE(world.core.finding());
  CHECK(world.core.finding()->kind == sim::FindingKind::in_flight);
  CHECK_THAT(world.core.finding()->message, test::contains("rank 0 changed the buffer of its "));
  CHECK_THAT(world.core.finding()->message, test::contains(which));
  CHECK_THAT(world.core.finding()->where, test::contains("tests/sim/group_test.cpp:"));
}

TEST_CASE("sim group: counts that differ are a mismatch that names both lines") {
  World world(2);
  world.run([](ProcessGroup& group, Device& device) {
    if (group.rank() == 0) group.send(tensor_of({1, 2}, device), 1);
    if (group.rank() == 1) group.recv(tensor_of({1}, device), 0);
  });
  REQUIRE(world.core.finding());
  CHECK(world.core.finding()->kind == sim::FindingKind::mismatch);
  CHECK_THAT(world.core.finding()->message, test::contains("sends 2 float32 (tests/sim/group_"));
}

TEST_CASE("sim group: when a rank dies, who waits for it is told why") {
  World world(3);
  world.run([](ProcessGroup& group, Device&) {
    if (group.rank() == 1) throw Error("out of ideas");
    group.barrier();
  });
  REQUIRE(world.core.finding());
  CHECK(world.core.finding()->kind == sim::FindingKind::rank_exited);
  CHECK(world.core.finding()->message == "out of ideas");
  CHECK_THAT(world.failures[0], test::contains("out of ideas"));
}
