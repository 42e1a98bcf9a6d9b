// What ranks are told when something is wrong: a sentence on every rank, in time, and nothing is
// left behind.
#include <signal.h>
#include <unistd.h>

#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/memory_store.hpp"
#include "engine/gpu/wires.hpp"
#include "tests/catch.hpp"
#include "tests/nccl/failure_reports.hpp"
#include "tests/shared_memory.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

TEST_CASE("nccl fault: ranks that call different things are told what each called") {
  struct Fault {
    const char* name;
    std::function<void(GpuRank&)> call;
    std::vector<std::string> told;
  };
  const auto odd = [](GpuRank& self) { return self.rank() == self.size() - 1; };
  const std::vector<Fault> faults{
      {"count",
       [=](GpuRank& self) {
         self.group.all_reduce(numbers(self, odd(self) ? 959 : 960), ReduceOp::sum);
       },
       {"collective no. 2, all_reduce (sum) of 960 float32 at tests/nccl/faults_test.cpp",
        "all_reduce (sum) of 959 float32 at"}},
      {"dtype",
       [=](GpuRank& self) {
         self.group.all_reduce(numbers(self, 50, odd(self) ? DType::int32 : DType::float32),
                               ReduceOp::sum);
       },
       {"of 50 float32", "of 50 int32"}},
      {"operator",
       [=](GpuRank& self) {
         self.group.all_reduce(numbers(self, 50), odd(self) ? ReduceOp::max : ReduceOp::sum);
       },
       {"all_reduce (sum)", "all_reduce (max)"}},
      {"root",
       [=](GpuRank& self) { self.group.broadcast(numbers(self, 50), odd(self) ? 1 : 0); },
       {"broadcast from rank 0", "broadcast from rank 1"}},
      {"order",
       [=](GpuRank& self) {
         const Tensor x = numbers(self, 50);
         if (odd(self)) self.group.broadcast(x, 0);
         self.group.all_reduce(x, ReduceOp::sum);
         if (!odd(self)) self.group.broadcast(x, 0);
       },
       {"all_reduce (sum) of 50", "broadcast from rank 0 of 50"}},
      {"unequal parts",
       [=](GpuRank& self) {
         const std::vector<std::int64_t> each(static_cast<std::size_t>(self.size()), 2);
         std::vector<std::int64_t> out = each;
         if (odd(self)) out[0] = 1;
         const auto total = [](const auto& counts) {
           std::int64_t sum = 0;
           for (const std::int64_t count : counts) sum += count;
           return sum;
         };
         self.group.all_to_all(numbers(self, total(each)), numbers(self, total(out)), each, out);
       },
       {"all_to_all of unequal parts, float32"}},
  };
  for (const int ranks : {2, 3}) {
    for (const Fault& fault : faults) {
      INFO(fault.name << " on " << ranks);
      std::vector<std::string> parts = fault.told;
      parts.push_back("failed");
      all_are_told(run_gpus(
                       ranks,
                       [&](GpuRank& self) {
                         self.group.all_reduce(numbers(self, 10), ReduceOp::sum);
                         return told_by(self, [&] { fault.call(self); });
                       },
                       faulty),
                   parts);
    }
  }
}

TEST_CASE("nccl fault: a message of another length, type or tag is told with both ends") {
  struct Fault {
    std::int64_t count;
    DType dtype;
    int tag;
    std::string told;
  };
  const std::vector<Fault> faults{
      {9, DType::float32, 0, "sent are 8 float32 with tag 0 at tests/nccl/faults_test.cpp"},
      {8, DType::int32, 0, "both sides need the same count and type"},
      {8, DType::float32, 1, "NCCL knows no tags, so a pair's messages meet in the order"}};
  for (const Fault& fault : faults) {
    INFO(fault.told);
    all_are_told(run_gpus(
                     2,
                     [&](GpuRank& self) {
                       return told_by(self, [&] {
                         if (self.rank() == 0) {
                           self.group.send(numbers(self, 8), 1);
                         } else {
                           self.group.recv(numbers(self, fault.count, fault.dtype), 0, fault.tag);
                         }
                       });
                     },
                     faulty),
                 {"message no. 1 from rank 0 to rank 1", fault.told});
  }
}

TEST_CASE("nccl fault: a group whose operations would have no time is refused") {
  const auto store = make_memory_store();
  CpuDevice device;
  for (const double timeout_s : {0.0, -1.0, 0.0 / 0.0}) {
    CHECK_THROWS_WITH(make_nccl_group(*store, device, make_solo_group(), {.timeout_s = timeout_s}),
                      contains("it must be positive"));
  }
}

TEST_CASE("nccl fault: a rank that never calls is named after the deadline") {
  const std::vector<std::function<void(GpuRank&)>> calls{
      [](GpuRank& self) { self.group.all_reduce(numbers(self, 960), ReduceOp::sum); },
      [](GpuRank& self) { self.group.recv(numbers(self, 960), 1); },
      [](GpuRank& self) { self.group.send(numbers(self, 960), 1); }};
  const std::vector<std::string> doing{"collective no. 1, all_reduce (sum) of 960 float32 at",
                                       "recv from rank 1 (tag 0) of 960 float32 at",
                                       "send to rank 1 (tag 0) of 960 float32 at"};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto outcomes = run_processes(2, [&](Store& store, int rank) -> std::string {
      return with_deadline(brief_s, Transport::automatic, store, rank, [&](GpuRank& self) {
        std::string told;
        if (rank == 0) told = told_by(self, [&] { calls[i](self); });
        if (rank == 0) store.set("told", "");
        if (rank == 1) store.get("told");
        return told;
      });
    });
    INFO(outcomes[0].message);
    CHECK(outcomes[0].ok);
    CHECK(outcomes[0].seconds < 15);
    CHECK_THAT(outcomes[0].message,
               contains(doing[i]) && contains("rank 1 does not answer") && contains("within 2 s"));
  }
}

TEST_CASE("nccl fault: a rank that is killed is named by all others") {
  const auto before = shared_memory();
  // Before the others call, after it has called, and while a message is due.
  for (const int when : {0, 1, 2}) {
    INFO("case " << when);
    const auto outcomes = run_gpus(
        3,
        [&](GpuRank& self) -> std::string {
          const Tensor x = numbers(self, 65537);
          self.group.all_reduce(x, ReduceOp::sum);
          self.gpu.settle();
          if (self.rank() == 1) {
            self.group.barrier();
            if (when == 1) static_cast<void>(self.group.all_reduce_async(x, ReduceOp::sum));
            kill(getpid(), SIGKILL);
          }
          self.group.barrier();  // nobody dies while others are in the sum before
          return told_by(self, [&] {
            if (when < 2) {
              self.group.all_reduce(x, ReduceOp::sum);
            } else {
              self.group.recv(x, 1);
            }
          });
        },
        faulty);
    all_are_told(outcomes,
                 {"rank 1 does not answer", "65537 float32 at tests/nccl/faults_test.cpp"}, 1);
    CHECK_FALSE(outcomes[1].ok);
  }
  CHECK(shared_memory_left(before).empty());
}

TEST_CASE("nccl fault: an error of NCCL's own is told by all ranks, with what was being done") {
  GpuRun run = faulty;
  run.paper = {"fail_collective=3"};
  all_are_told(run_gpus(
                   3,
                   [](GpuRank& self) {
                     return told_by(self, [&] {
                       for (int i = 0; i < 10; ++i) {
                         self.group.all_reduce(numbers(self, 960), ReduceOp::sum);
                       }
                     });
                   },
                   run),
               {"all_reduce (sum) of 960 float32 at tests/nccl/faults_test.cpp", "failed"});
}

TEST_CASE("nccl fault: a rank without a GPU, and two ranks on one, are told on all ranks") {
  const auto join = [](Store& store, int rank, const std::function<int(int)>& gpu_of) {
    GlooOptions of_host;
    of_host.timeout_s = 20;
    auto host = make_gloo_group(store, rank, 3, of_host);
    try {
      auto device =
          gpu::open_gpu({gpu::Hardware::paper, gpu::Blocks::chosen, {"devices=2"}, gpu_of(rank)});
      make_nccl_group(store, *device, std::move(host));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was told");
  };
  const auto none = run_processes(
      3, [&](Store& store, int rank) { return join(store, rank, [](int of) { return of; }); });
  INFO(none[0].message << "\n" << none[1].message << "\n" << none[2].message);
  CHECK_THAT(none[2].message,
             contains("this process is to use GPU number 2, but CUDA shows 2 GPUs"));
  for (const int rank : {0, 1}) {
    CHECK_THAT(none[static_cast<std::size_t>(rank)].message,
               contains("cannot join the NCCL group \"world\": rank 2 has left the group"));
  }

  const auto shared = run_processes(
      3, [&](Store& store, int rank) { return join(store, rank, [](int of) { return of % 2; }); });
  INFO(shared[0].message << "\n" << shared[1].message << "\n" << shared[2].message);
  for (const Outcome& outcome : shared) {
    CHECK_THAT(outcome.message, contains("cannot join the NCCL group \"world\"") &&
                                    contains("ranks 0 and 2 have the same GPU of one machine"));
    CHECK(outcome.seconds < 15);
  }
}

TEST_CASE("nccl fault: a rank that throws takes the others along, with its number") {
  const auto outcomes = run_gpus(
      3,
      [](GpuRank& self) -> std::string {
        self.group.all_reduce(numbers(self, 10), ReduceOp::sum);
        self.gpu.settle();
        if (self.rank() == 1) throw Error("a mistake of this rank");
        return told_by(self, [&] { self.group.all_reduce(numbers(self, 960), ReduceOp::sum); });
      },
      faulty);
  all_are_told(outcomes, {" of 3: ", "rank 1"}, 1);
  CHECK(outcomes[1].message == "a mistake of this rank");
}

TEST_CASE("nccl: a device that is none of open_gpu's has no wires") {
  CpuDevice host;
  CHECK_THROWS_WITH(gpu::open_wires(host), contains("the device 'cpu' is no GPU of open_gpu's"));
}
