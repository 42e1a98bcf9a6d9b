// Two backends behind one group: tensors on the host through one, tensors whose memory the host
// cannot read through the other.
#include "engine/comm/group_by_device.hpp"

#include "engine/collectives/all_reduce_choice.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"
#include "tests/comm/conformance.hpp"
#include "tests/comm/far_group.hpp"
#include "tests/comm/shm_ranks.hpp"
#include "tests/tensor/far_device.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

namespace {

// What a rank has. Devices outlive the group, whose operations hold tensors.
struct FarRank {
  FarDevice far{};
  CpuDevice near{};
  std::unique_ptr<ProcessGroup> group{};
  Strands* strands = nullptr;

  // The same numbers on either device.
  Tensor ones(std::int64_t count, Device& device) const {
    return full({count}, group->rank() + 1, DType::int64, device);
  }
};

using FarProgram = std::function<void(FarRank& self)>;

std::unique_ptr<ProcessGroup> by_device(ProcessGroup& whole) {
  auto host = whole.split(0, whole.rank());
  return make_group_by_device(std::move(host), make_far_group(whole.split(0, whole.rank())));
}

// Every rank's complaint; empty when there is none.
std::string on_fibers(int ranks, const std::function<void(sim::FiberRank& self)>& program) {
  sim::Options options;
  options.ranks = ranks;
  options.limits.messages_max = options.limits.requests_max = std::int64_t{1} << 40;
  options.limits.bytes_max = std::int64_t{1} << 50;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, program);
  std::string told = result.finding ? result.finding->message : "";
  for (const std::string& failure : result.failures) told += failure;
  return told;
}

std::string on_far_fibers(int ranks, const FarProgram& program) {
  return on_fibers(ranks, [&](sim::FiberRank& self) {
    FarRank rank;
    rank.strands = &self.strands;
    rank.group = by_device(*make_sim_group(self.port, self.rank, self.ranks));
    program(rank);
  });
}

std::string on_far_threads(int ranks, const FarProgram& program) {
  return failures(run_shm_threads(ranks, [&](ProcessGroup& whole) -> std::string {
    FarRank rank;
    rank.group = by_device(whole);
    program(rank);
    return "";
  }));
}

void expect_number(const Tensor& data, double wanted, const char* what) {
  const Tensor here = to_host(data);
  for (std::int64_t i = 0; i < here.numel(); ++i) {
    expect(here.item(i) == wanted, text(what, " is ", here.item(i), ", not ", wanted));
  }
}

// Writes down what it is asked.
class NotedGroup : public ProcessGroup {
 public:
  NotedGroup(std::string name, std::vector<std::string>& notes)
      : ProcessGroup(0, 1), name_(std::move(name)), notes_(notes) {}
  std::string_view backend() const override { return name_; }
  bool carries(const Device&) const override { return true; }
  Traffic traffic() const override { return {10, 2, name_ == "two"}; }
  double now_s() const override { return 7; }
  Clock clock() const override { return Clock::modelled; }
  void wait_until(double) const override { note("wait_until"); }
  static void give_up_on(ProcessGroup& group) { give_up_in(group, "enough"); }

 protected:
  Work start(const Collective& collective, const Where&) override {
    note(std::string(sim::name_of(collective.kind)));
    return {};
  }
  Work start_send(const Tensor&, int, int, const Where&) override { return {}; }
  Work start_recv(Tensor, int, int, const Where&) override { return {}; }
  std::unique_ptr<ProcessGroup> start_split(int, int, const Where&) override { return {}; }
  void give_up(const std::string& why) override { note("gives up: " + why); }

  void note(const std::string& what) const { notes_.push_back(name_ + " " + what); }

 private:
  std::string name_;
  std::vector<std::string>& notes_;
};

// And carries out what the group beside it is asked.
class NotedCompanion final : public NotedGroup, public Companion {
 public:
  using NotedGroup::NotedGroup;
  void accompany(ProcessGroup& host) override { host_ = &host; }
  Work start_on_host(const Collective& collective, const Where& where) override {
    note("starts");
    return start_in(*host_, collective, where);
  }
  void run_on_host(const Collective& collective, const Where& where) override {
    note("runs");
    run_in(*host_, collective, where);
  }

 private:
  ProcessGroup* host_ = nullptr;
};

}  // namespace

TEST_CASE("group by device: collectives and messages of both devices, in every type and count") {
  const int ranks = GENERATE(1, 2, 3, 5);
  CHECK(
      on_far_fibers(ranks, [](FarRank& self) {
        ProcessGroup& group = *self.group;
        for (Device* device : {static_cast<Device*>(&self.far), static_cast<Device*>(&self.near)}) {
          check_collectives(group, *device, all_dtypes, usual_counts(group.size()));
          check_messages_and_splits(group, *device);
        }
        expect(bits_of_sums(group, self.far) == bits_of_sums(group, self.near),
               "sums of fractions have other bits on the far device");
      }) == "");
}

TEST_CASE("group by device: threads that share memory do the same, and large tensors too") {
  const int ranks = GENERATE(2, 3);
  CHECK(on_far_threads(ranks, [](FarRank& self) {
          const std::vector<std::int64_t> counts{0, 13};
          check_collectives(*self.group, self.far, all_dtypes, counts);
          check_messages_and_splits(*self.group, self.far);
          check_large(*self.group, self.far);
        }) == "");
}

TEST_CASE("group by device: operations of both kinds take turns, and the host reads nothing") {
  const int ranks = GENERATE(1, 2, 3, 5);
  const double sum = ranks * (ranks + 1) / 2.0;
  CHECK(on_far_fibers(ranks, [&](FarRank& self) {
          ProcessGroup& group = *self.group;
          const Tensor far = self.ones(5, self.far), near = self.ones(3, self.near);
          Work later = group.all_reduce_async(far, ReduceOp::sum);
          group.all_reduce(near, ReduceOp::sum);
          group.barrier();
          later.wait();
          group.monitored_barrier(5);

          // One tag for both kinds, received in the other order than they were sent.
          const Tensor far_in = zeros({5}, DType::int64, self.far),
                       far_own = self.ones(5, self.far);
          const Tensor near_in = zeros({5}, DType::int64, self.near);
          const Tensor near_own = full({5}, 100, DType::int64, self.near);
          if (ranks > 1) {
            const int right = (group.rank() + 1) % ranks, left = (group.rank() + ranks - 1) % ranks;
            Work far_sent = group.isend(far_own, right), near_sent = group.isend(near_own, right);
            group.recv(near_in, left);
            group.recv(far_in, left);
            far_sent.wait();
            near_sent.wait();
            expect_number(near_in, 100, "the host's message");
          }
          expect(self.far.host_reads() == 0, "the host read the far device");
          const std::vector<Tensor> both{far, far_in};
          const std::vector<Tensor> here = to_host(both);
          expect(self.far.host_reads() == 1, "one to_host is more than one read");
          expect_number(here[0], sum, "the far sum");
          expect_number(near, sum, "the host's sum");
          if (ranks > 1) {
            expect_number(here[1], (group.rank() + ranks - 1) % ranks + 1, "the far message");
          }
        }) == "");
}

TEST_CASE("group by device: a split makes groups by device again, and none for no_color") {
  const int ranks = GENERATE(1, 2, 3, 5);
  CHECK(
      on_far_fibers(ranks, [&](FarRank& self) {
        const int rank = self.group->rank();
        const auto half = self.group->split(rank % 2, -rank);
        expect(half->backend() == "cpu:sim,away:far", "the split has other backends");
        double sum = 0;
        for (int other = rank % 2; other < ranks; other += 2) sum += other + 1;
        for (Device* device : {static_cast<Device*>(&self.far), static_cast<Device*>(&self.near)}) {
          const Tensor data = self.ones(7, *device);
          half->all_reduce(data, ReduceOp::sum);
          expect_number(data, sum, "the sum of a half");
        }
        const auto first = self.group->split(rank == 0 ? 4 : ProcessGroup::no_color, 0);
        expect((first != nullptr) == (rank == 0), "no_color got a group, or rank 0 got none");
      }) == "");
}

TEST_CASE("group by device: an all-reduce made of messages runs on a far device") {
  const int ranks = GENERATE(1, 2, 3, 5);
  CHECK(
      on_far_fibers(ranks, [&](FarRank& self) {
        for (const auto algorithm : {collectives::AllReduce::ring, collectives::AllReduce::tree}) {
          const auto group = collectives::with_all_reduce(*self.group, algorithm, *self.strands);
          const Tensor far = self.ones(7, self.far), later = self.ones(4, self.far);
          Work work = group->all_reduce_async(later, ReduceOp::sum);
          group->all_reduce(far, ReduceOp::sum);
          work.wait();
          expect_number(far, ranks * (ranks + 1) / 2.0, "the sum");
          expect_number(later, ranks * (ranks + 1) / 2.0, "the asynchronous sum");
        }
      }) == "");
}

TEST_CASE(
    "group by device: barriers, the clock and traffic, and the end of one is the end of both") {
  std::vector<std::string> notes;
  const auto group = make_group_by_device(std::make_unique<NotedGroup>("one", notes),
                                          std::make_unique<NotedGroup>("two", notes));
  CpuDevice near;
  FarDevice far;
  CHECK(group->backend() == "cpu:one,away:two");
  CHECK(group->clock() == Clock::modelled);
  CHECK(group->now_s() == 7);
  CHECK(group->traffic().bytes_sent == 20);
  CHECK(group->traffic().messages_sent == 4);
  CHECK(group->traffic().modelled);
  group->barrier();
  group->barrier_async().wait();
  group->monitored_barrier(1);
  group->wait_until(9);
  group->all_reduce(zeros({2}, DType::int64, far), ReduceOp::sum);
  group->broadcast_async(zeros({2}, DType::int64, near), 0).wait();
  NotedGroup::give_up_on(*group);
  CHECK(notes == std::vector<std::string>{"one barrier", "one barrier", "one barrier",
                                          "one wait_until", "two all_reduce", "one broadcast",
                                          "two gives up: enough", "one gives up: enough"});
  CHECK(&group->allocate_buffer(3, DType::float32, far).device() == &far);
  CHECK(&group->allocate_buffer(3, DType::float32, near).device() == &near);
}

TEST_CASE("group by device: a companion carries out the collectives of the host, in their order") {
  std::vector<std::string> notes;
  const auto group = make_group_by_device(std::make_unique<NotedGroup>("one", notes),
                                          std::make_unique<NotedCompanion>("two", notes));
  CpuDevice near;
  FarDevice far;
  group->all_reduce(zeros({2}, DType::int64, near), ReduceOp::sum);
  group->all_reduce(zeros({2}, DType::int64, far), ReduceOp::sum);
  group->broadcast_async(zeros({2}, DType::int64, near), 0).wait();
  group->barrier();
  CHECK(notes == std::vector<std::string>{"two runs", "one all_reduce", "two all_reduce",
                                          "two starts", "one broadcast", "two runs",
                                          "one barrier"});
}

TEST_CASE("group by device: both groups have the same ranks in the same order") {
  std::vector<std::string> notes;
  CHECK_THROWS_WITH(make_group_by_device(make_solo_group(), nullptr),
                    contains("needs one for each kind of device"));
  CHECK(on_far_fibers(2, [](FarRank& self) {
          auto reversed = self.group->split(0, -self.group->rank());
          auto ordered = self.group->split(0, self.group->rank());
          const std::string told = refusal_of([&] {
            static_cast<void>(make_group_by_device(std::move(ordered), std::move(reversed)));
          });
          expect(told.find("the same ranks in the same order") != std::string::npos, told);
        }) == "");
}

TEST_CASE("group by device: a call with tensors of two devices is refused") {
  CHECK(on_far_fibers(2, [](FarRank& self) {
          FarDevice other;
          const Tensor near = self.ones(1, self.near), far = self.ones(2, self.far);
          std::string told = refusal_of([&] { self.group->all_gather(near, far); });
          expect(told.find("one tensor on 'cpu' and one on 'far'") != std::string::npos, told);
          told = refusal_of([&] { self.group->all_to_all(far, self.ones(2, other)); });
          expect(told.find("bring both to one device") != std::string::npos, told);
        }) == "");
}

TEST_CASE("group by device: a group for far tensors refuses those of the host") {
  const auto group = make_far_group(make_solo_group());
  CpuDevice near;
  const Tensor data = zeros({2}, DType::float32, near);
  CHECK_THROWS_WITH(group->all_reduce(data, ReduceOp::sum),
                    contains("is on the device 'cpu', and this group (far) carries tensors of "
                             "other devices") &&
                        contains("to_device"));
}

TEST_CASE("groups: a tensor that the host cannot read is refused before anything is sent") {
  // Every call, by a group that carries host tensors only.
  const auto check = [](ProcessGroup& group, const std::string& backend) {
    FarDevice far;
    const int n = group.size(), peer = (group.rank() + 1) % n;
    const Tensor small = full({1}, 3, DType::float32, far);
    const Tensor large = full({n}, 3, DType::float32, far), room = large.clone();
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(n), 1);
    const std::int64_t sent = group.traffic().messages_sent;
    const std::size_t launches = far.launches_waiting();
    const std::vector<std::function<void()>> calls{
        [&] { group.broadcast(small, 0); },
        [&] { group.reduce(small, 0, ReduceOp::average); },
        [&] { group.all_reduce(small, ReduceOp::average); },
        [&] { static_cast<void>(group.all_reduce_async(small, ReduceOp::average)); },
        [&] { group.gather(small, large, 0); },
        [&] { group.scatter(large, small, 0); },
        [&] { group.all_gather(small, large); },
        [&] { group.all_gather(small, large, ones); },
        [&] { group.reduce_scatter(large, small, ReduceOp::average); },
        [&] { group.all_to_all(large, room); },
        [&] { group.all_to_all(large, room, ones, ones); },
        [&] { group.send(small, peer); },
        [&] { group.recv(small, peer); },
        [&] { static_cast<void>(group.isend(small, peer)); },
        [&] { static_cast<void>(group.irecv(small.narrow(0, 0), peer)); }};
    for (const auto& call : calls) {
      const std::string told = refusal_of(call);
      for (const std::string& part :
           {std::string("tensor is on the device 'far'"), text("this group (", backend, ")"),
            std::string(
                "make the group with make_group_by_device, or bring the tensor with to_host")}) {
        expect(told.find(part) != std::string::npos, text("not told \"", part, "\": ", told));
      }
    }
    expect(group.traffic().messages_sent == sent, "something was sent");
    expect(far.launches_waiting() == launches, "something was launched");
  };
  const int ranks = GENERATE(2, 3);
  CHECK(on_fibers(ranks, [&](sim::FiberRank& self) {
          const auto group = make_sim_group(self.port, self.rank, self.ranks);
          check(*group, "sim");
          check(*collectives::with_all_reduce(*group, collectives::AllReduce::ring, self.strands),
                "sim");
        }) == "");
  CHECK(failures(run_shm_threads(ranks, [&](ProcessGroup& group) -> std::string {
          check(group, "gloo");
          return "";
        })) == "");
}

TEST_CASE("groups: the group of one rank carries tensors of every device") {
  FarDevice far;
  check_collectives(*make_solo_group(), far, all_dtypes, usual_counts(1));
}
