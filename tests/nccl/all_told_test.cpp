// Faults that some ranks alone would find: ranks that wait in the wrong half of their group, and
// groups in different orders. All ranks are told. And what groups that were split call their ranks.
#include "tests/catch.hpp"
#include "tests/nccl/failure_reports.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

TEST_CASE("nccl fault: a tensor of the host where others bring the GPU's is told with all calls") {
  struct Fault {
    const char* name;
    std::function<void(GpuRank&, Device&)> call;  // the device of its tensors
    std::string on_host, on_gpu;
  };
  const std::string here = " at tests/nccl/all_told_test.cpp";
  const std::vector<Fault> faults{
      {"in the same call",
       [](GpuRank& self, Device& device) {
         self.group.all_reduce(full({960}, 1, DType::float32, device), ReduceOp::sum);
       },
       "collective no. 2, all_reduce (sum) of 960 float32 on the host" + here,
       "collective no. 2, all_reduce (sum) of 960 float32" + here},
      {"in an asynchronous one",
       [](GpuRank& self, Device& device) {
         const Tensor data = full({960}, 1, DType::float32, device);
         self.group.all_reduce_async(data, ReduceOp::sum).wait();
       },
       "of 960 float32 on the host" + here, "of 960 float32" + here},
      {"in another order",
       [](GpuRank& self, Device& first) {
         Device& second = &first == &self.host ? self.gpu : self.host;
         self.group.all_reduce(full({30}, 1, DType::float32, first), ReduceOp::sum);
         self.group.all_reduce(full({30}, 1, DType::float32, second), ReduceOp::sum);
       },
       "of 30 float32 on the host" + here, "of 30 float32" + here},
      {"a barrier",
       [](GpuRank& self, Device& device) {
         if (&device == &self.host) return self.group.barrier();
         self.group.all_reduce(numbers(self, 960), ReduceOp::sum);
       },
       "collective no. 2, barrier" + here, "of 960 float32" + here}};
  for (const auto words : {Transport::shm, Transport::gloo}) {
    for (const int ranks : {2, 3}) {
      for (const Fault& fault : faults) {
        INFO(fault.name << " on " << ranks << ", over TCP: " << (words == Transport::gloo));
        GpuRun run = faulty;
        run.words = words;
        const auto outcomes = run_gpus(
            ranks,
            [&](GpuRank& self) {
              self.group.all_reduce(numbers(self, 10), ReduceOp::sum);
              Device& device = self.rank() == 0 ? self.host : self.gpu;
              return told_by(self, [&] { fault.call(self, device); });
            },
            run);
        all_are_told(outcomes, {"the ranks call different things: rank 0 calls collective no. 2, ",
                                fault.on_host, fault.on_gpu});
      }
    }
  }
}

// Asked for together, each on a stream of its own; or one behind the other, which no GPU can do.
TEST_CASE("nccl fault: groups in different orders are told, unless the device need not wait") {
  enum class Order { together, one_by_one };
  const auto use = [](GpuRank& self, Order order) -> std::string {
    const auto one = self.group.split(0, self.rank()), two = self.group.split(0, -self.rank());
    const Tensor x = numbers(self, 100), y = numbers(self, 100);
    const auto ask = [&](int which) {
      Work work = which == 0 ? one->all_reduce_async(x, ReduceOp::sum)
                             : two->all_reduce_async(y, ReduceOp::sum);
      if (order == Order::one_by_one) work.wait();
      return work;
    };
    Work first = ask(self.rank()), second = ask(1 - self.rank());
    first.wait();
    second.wait();
    expect(number_of(x) == 3 && number_of(y) == 3, "the sums are wrong");
    return "";
  };
  CHECK(failures(run_gpus(2, [&](GpuRank& self) { return use(self, Order::together); })) == "");
  const auto words = GENERATE(Transport::shm, Transport::gloo);
  // Where rank 1's own deadline comes late, it hears of it from rank 0, whose GPU must not go on
  // before.
  const double deadline_of_1_s = GENERATE(2.0, 20.0);
  CAPTURE(deadline_of_1_s);
  const auto outcomes = run_processes(2, [&](Store& store, int rank) {
    const double timeout_s = rank == 0 ? brief_s : deadline_of_1_s;
    return with_deadline(timeout_s, words, store, rank, [&](GpuRank& self) {
      return error_of([&] { use(self, Order::one_by_one); });
    });
  });
  all_are_told(outcomes, {"all_reduce (sum) of 100 float32 at tests/nccl/all_told_test.cpp",
                          "the GPU has been at it for 2 s",
                          "the ranks use several groups in different orders"});
}

TEST_CASE("nccl fault: ranks of a split group are named by their ranks in the world, too") {
  const auto outcomes = run_gpus(
      4,
      [](GpuRank& self) {
        const auto half = self.group.split(self.rank() % 2, 0);
        GpuRank in_half{self.gpu, self.host, *half};
        return told_by(in_half, [&] {
          half->all_reduce(numbers(self, self.rank() < 2 ? 960 : 959), ReduceOp::sum);
        });
      },
      faulty);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string told = outcomes[static_cast<std::size_t>(rank)].message;
    INFO("rank " << rank << ": " << told);
    CHECK_THAT(told, contains(text("rank 1 (rank ", 2 + rank % 2, " of the world)")) &&
                         contains("of 959 float32"));
    CHECK_THAT(told, contains(text("rank ", rank / 2, " of 2")));
  }
}
