// The modelled device of a rank: work is time, memory ends, and communication runs beside both. All
// times are computed by hand.
#include "engine/comm/worlds/sim/simulated_device.hpp"

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::Approx;
using lockstep::test::contains;

namespace {

// 1 FLOP/s, 4 bytes/s and 400 bytes: numbers that a person can follow.
const sim::DeviceModel slow = [] {
  sim::DeviceModel model;
  model.name = "abacus";
  model.peak_flops_s[static_cast<std::size_t>(DType::float32)] = 2;
  model.flops_achieved = 0.5;
  model.memory_bandwidth_bytes_s = 8;
  model.bandwidth_achieved = 0.5;
  model.memory_bytes = 400;
  model.start_s = 0.5;
  return model;
}();

using Program = std::function<void(sim::FiberRank&, ProcessGroup&, SimulatedDevice&)>;

// A link moves 8 bytes a second and has no latency. Returns what went wrong, or nothing.
std::string run(int ranks, const Program& program, std::uint64_t seed = 0,
                Elements elements = Elements::numbers) {
  sim::Options options;
  options.ranks = ranks;
  options.network = {.latency_s = 0, .gap_s = 0, .bandwidth_bytes_s = 8};
  options.seed = seed;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    SimulatedDevice device(self.port, self.rank, slow, DType::float32, elements);
    const auto group = make_sim_group(self.port, self.rank, self.ranks);
    program(self, *group, device);
  });
  return result.finding ? result.finding->message : "";
}

}  // namespace

TEST_CASE("simulated device: an operation takes its start and the larger of work and movement") {
  const Elements elements = GENERATE(Elements::numbers, Elements::none);
  CHECK(run(
            1,
            [](sim::FiberRank&, ProcessGroup& group, SimulatedDevice& device) {
              CHECK(group.now_s() == 0);
              device.charge(3, 8);
              CHECK(group.now_s() == 3.5);
              device.charge(1, 8);
              CHECK(group.now_s() == 3.5 + 2.5);
              const Tensor a = zeros({2, 3}, DType::float32, device);  // 24 bytes written
              CHECK(group.now_s() == 6 + 6.5);
              const Tensor b = empty({3, 2}, DType::float32, device);
              ops::matmul(a, ops::Transpose::no, b, ops::Transpose::no);  // 24 FLOPs, 64 bytes
              CHECK(group.now_s() == 12.5 + 24.5);
            },
            0, elements) == "");
}

TEST_CASE("simulated device: what a strand computes is on its own clock until it is waited for") {
  CHECK(run(1, [](sim::FiberRank& self, ProcessGroup& group, SimulatedDevice& device) {
          const auto longer = self.strands.start("longer", [&] { device.charge(9.5, 0); });
          device.charge(3.5, 0);
          CHECK(group.now_s() == 4);
          longer->join();
          CHECK(group.now_s() == 10);
        }) == "");
}

TEST_CASE("simulated device: a monitor hands over no earlier than the work before it was done") {
  CHECK(run(1, [](sim::FiberRank& self, ProcessGroup& group, SimulatedDevice& device) {
          const auto monitor = self.strands.make_monitor();
          bool made = false;
          const auto maker = self.strands.start("maker", [&] {
            device.charge(6.5, 0);
            const std::scoped_lock inside(*monitor);
            made = true;
            monitor->notify_all();
            device.charge(99.5, 0);  // after it was told
          });
          {
            const std::scoped_lock inside(*monitor);
            monitor->wait([&] { return made; });
          }
          CHECK(group.now_s() >= 7);
          maker->join();
          CHECK(group.now_s() == 107);
        }) == "");
}

// Two buckets of 16 bytes on two ranks: 2 steps of 8 bytes, 2 s each. Work of 3 s before each.
//   issued and waited for      3 | 3+2=5 | 8 | 8+2=10
//   issued, both waited for    first 3 to 5 under the second's work; second 6 to 8
TEST_CASE("simulated device: a collective that is not waited for runs beside the work") {
  const std::uint64_t seed = GENERATE(0, 1, 2);
  const auto bucket = [](SimulatedDevice& device) { return empty({4}, DType::float32, device); };
  CHECK(run(
            2,
            [&](sim::FiberRank&, ProcessGroup& group, SimulatedDevice& device) {
              const Tensor first = bucket(device), second = bucket(device);
              first.fill_(1), second.fill_(1);
              const double begin = group.now_s();
              for (const Tensor& one : {first, second}) {
                device.charge(2.5, 0);
                group.all_reduce(one, ReduceOp::sum);
              }
              CHECK(group.now_s() - begin == 10);
            },
            seed) == "");
  CHECK(run(
            2,
            [&](sim::FiberRank&, ProcessGroup& group, SimulatedDevice& device) {
              const Tensor first = bucket(device), second = bucket(device);
              first.fill_(1), second.fill_(1);
              const double begin = group.now_s();
              device.charge(2.5, 0);
              Work one = group.all_reduce_async(first, ReduceOp::sum);
              device.charge(2.5, 0);
              Work two = group.all_reduce_async(second, ReduceOp::sum);
              one.wait();
              CHECK(group.now_s() - begin == 6);
              two.wait();
              CHECK(group.now_s() - begin == 8);
              CHECK(one.ran_s() == 2);
              CHECK(two.ran_s() == 2);
            },
            seed) == "");
}

TEST_CASE("simulated device: collectives of one group queue, and the last one may begin late") {
  CHECK(run(2, [](sim::FiberRank&, ProcessGroup& group, SimulatedDevice& device) {
          const Tensor first = zeros({4}, DType::float32, device);
          const Tensor second = zeros({4}, DType::float32, device);
          const double begin = group.now_s();
          if (group.rank() == 1) device.charge(0.5, 0);  // rank 0 waits for it
          Work one = group.all_reduce_async(first, ReduceOp::sum);
          Work two = group.all_reduce_async(second, ReduceOp::sum);
          two.wait();
          CHECK(group.now_s() - begin == 1 + 2 + 2);
          CHECK(two.ran_s() == 2);
          one.wait();
        }) == "");
}

TEST_CASE("simulated device: memory that is not there is an error with the account by kind") {
  const Elements elements = GENERATE(Elements::numbers, Elements::none);
  const std::string why = run(
      3,
      [](sim::FiberRank& self, ProcessGroup&, SimulatedDevice& device) {
        const auto kept = empty({25}, DType::float32, device, MemoryKind::parameters);
        const auto more = empty({50}, DType::float32, device, MemoryKind::activations);
        if (self.rank == 1) (void)empty({26}, DType::float32, device, MemoryKind::buffers);
        CHECK_NOTHROW(empty({25}, DType::float32, device, MemoryKind::buffers));
      },
      0, elements);
  CHECK_THAT(why, contains("rank 1 asks its abacus for 104 bytes more"));
  CHECK_THAT(why, contains("of 400 bytes 100 bytes are left"));
  CHECK_THAT(why, contains("\n  parameters        100 bytes"));
  CHECK_THAT(why, contains("\n  gradients         0 bytes"));
  CHECK_THAT(why, contains("\n  activations       200 bytes"));
  CHECK_THAT(why, contains("--batch-size"));
}
