// When things happen: what comes after what on the device, and who waits for whom on the host.
#include <chrono>
#include <thread>

#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"
#include "tests/nccl/gpu_ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

namespace {

Tensor filled(GpuRank& self, std::int64_t count, double value) {
  return full({count}, value, DType::float32, self.gpu);
}

void expect_all(const Tensor& data, double wanted, const std::string& what) {
  const Tensor here = to_host(data);
  for (std::int64_t i = 0; i < here.numel(); ++i) {
    if (here.item(i) == wanted) continue;
    throw Error(text(what, ": element ", i, " is ", here.item(i), ", not ", wanted));
  }
}

}  // namespace

TEST_CASE("nccl: a collective comes between the kernels before it and those after wait()") {
  const int ranks = GENERATE(1, 2, 3);
  const double sum = ranks * (ranks + 1) / 2.0;
  CHECK(failures(run_gpus(ranks, [&](GpuRank& self) -> std::string {
          const Tensor x = filled(self, 5000, 0), beside = filled(self, 5000, 3);
          for (int turn = 0; turn < 3; ++turn) {
            x.fill_(self.rank() + 1);
            Work work = self.group.all_reduce_async(x, ReduceOp::sum);
            beside.scale_(2);  // overlaps
            work.wait();
            x.scale_(2);
          }
          expect(self.gpu.host_reads() == 0, "the host waited for the GPU");
          expect_all(x, 2 * sum, "the sum");
          expect_all(beside, 24, "what was computed meanwhile");
          return "";
        })) == "");
}

TEST_CASE("nccl: wait() holds up the device and not the host, which waits where it reads") {
  const auto outcomes = run_processes(2, [](Store& store, int rank) -> std::string {
    auto device = gpu_on_paper(rank);
    {
      const auto group = make_nccl_group(store, *device, make_gloo_group(store, rank, 2));
      const Tensor x = full({100}, rank + 1, DType::float32, *device);
      // The other rank calls only when this one is past its wait().
      if (rank == 1) store.get("rank 0 goes on");
      Work work = group->all_reduce_async(x, ReduceOp::sum);
      work.wait();
      x.scale_(10);
      if (rank == 0) store.set("rank 0 goes on", "");
      expect_all(x, 30, "the sum");
    }
    device.reset();
    return gpu::paper_findings();
  });
  CHECK(failures(outcomes) == "");
  CHECK(outcomes[0].message == "");
}

TEST_CASE("nccl: memory is given out again only when the communication is done with it") {
  const auto blocks = GENERATE(gpu::Blocks::kept, gpu::Blocks::returned);
  CHECK(failures(run_gpus(2,
                          [](GpuRank& self) -> std::string {
                            std::vector<Tensor> sums;
                            for (int turn = 0; turn < 10; ++turn) {
                              Tensor mine = filled(self, 3000, turn + self.rank());
                              const Tensor all = filled(self, 6000, -1);
                              Work work = self.group.all_gather_async(mine, all);
                              mine = {};  // still being read
                              const Tensor next =
                                  filled(self, 3000, 1000);  // must not come to lie there
                              work.wait();
                              sums.push_back(all.narrow(3000, 3000).clone());
                              if (turn % 4 == 3) self.gpu.settle();
                            }
                            for (int turn = 0; turn < 10; ++turn) {
                              expect_all(sums[static_cast<std::size_t>(turn)], turn + 1,
                                         "what rank 1 gave");
                            }
                            return "";
                          },
                          {.blocks = blocks})) == "");
}

TEST_CASE("nccl: an operation that nobody waits for keeps its memory, and ends with its group") {
  const auto blocks = GENERATE(gpu::Blocks::kept, gpu::Blocks::returned);
  CHECK(failures(run_gpus(3,
                          [](GpuRank& self) -> std::string {
                            for (int turn = 0; turn < 5; ++turn) {
                              static_cast<void>(self.group.all_reduce_async(filled(self, 2000, 1),
                                                                            ReduceOp::sum));
                              const Tensor other = filled(self, 2000, 7);
                              expect_all(other, 7, "another tensor");
                            }
                            return "";
                          },
                          {.blocks = blocks})) == "");
}

TEST_CASE("nccl: a ring of sends without a group, and many rounds of it") {
  const int ranks = GENERATE(2, 3, 5);
  CHECK(failures(run_gpus(ranks, [&](GpuRank& self) -> std::string {
          const int right = (self.rank() + 1) % ranks, left = (self.rank() + ranks - 1) % ranks;
          Tensor x = filled(self, 700, self.rank());
          for (int round = 0; round < ranks; ++round) {
            const Tensor in = filled(self, 700, -1);
            Work sent = self.group.isend(x, right);
            self.group.recv(in, left);
            sent.wait();
            x = in;
          }
          expect(self.gpu.host_reads() == 0, "the host waited for the GPU");
          expect_all(x, self.rank(), "what came round");
          return "";
        })) == "");
}

TEST_CASE("nccl: isend, recv, send, with a third rank between") {
  CHECK(failures(run_gpus(3, [](GpuRank& self) -> std::string {
          // 0 gives to 1 early, and 1 takes it late: only when it has heard from 0 by way of 2.
          const Tensor early = filled(self, 300, 5), word = filled(self, 300, 6);
          const Tensor in = filled(self, 300, -1), late = filled(self, 300, -1);
          if (self.rank() == 0) {
            Work sent = self.group.isend(early, 1);
            self.group.recv(in, 2);
            self.group.send(in, 2);
            sent.wait();
          } else if (self.rank() == 1) {
            self.group.recv(in, 2);
            self.group.recv(late, 0);
            expect_all(late, 5, "what was sent early");
          } else {
            self.group.send(word, 0);
            self.group.recv(in, 0);
            self.group.send(in, 1);
          }
          expect_all(in, 6, "the word");
          return "";
        })) == "");
}

TEST_CASE("nccl: messages of both directions and collectives are under way together") {
  CHECK(failures(run_gpus(2, [](GpuRank& self) -> std::string {
          const int peer = 1 - self.rank();
          std::vector<Tensor> out, in;
          std::vector<Work> works;
          for (int i = 0; i < 6; ++i) {
            out.push_back(filled(self, 100 + i, 10 * self.rank() + i));
            in.push_back(filled(self, 100 + i, -1));
            works.push_back(self.group.isend(out.back(), peer));
          }
          const Tensor sum = filled(self, 50, self.rank() + 1);
          works.push_back(self.group.all_reduce_async(sum, ReduceOp::sum));
          for (const Tensor& each : in) works.push_back(self.group.irecv(each, peer));
          for (Work& work : works) work.wait();
          expect(self.gpu.host_reads() == 0, "the host waited for the GPU");
          expect_all(sum, 3, "the sum");
          for (int i = 0; i < 6; ++i) {
            expect_all(in[static_cast<std::size_t>(i)], 10 * peer + i, text("message ", i));
          }
          return "";
        })) == "");
}

TEST_CASE("nccl: tensors of the host go through the host's group, barriers too") {
  CHECK(failures(run_gpus(3, [](GpuRank& self) -> std::string {
          const Tensor near = full({5}, self.rank(), DType::int64, self.host);
          const Tensor far = full({5}, self.rank(), DType::int64, self.gpu);
          Work later = self.group.all_reduce_async(far, ReduceOp::sum);
          self.group.all_reduce(near, ReduceOp::sum);
          self.group.barrier();
          expect(near.item(0) == 3, "the host's sum");
          later.wait();
          expect(self.group.backend() == "cpu:gloo,away:nccl", std::string(self.group.backend()));
          expect_all(far, 3, "the GPU's sum");
          return "";
        })) == "");
}

TEST_CASE("nccl: sums of a rank's threads go to its own GPU") {
  CHECK(failures(run_gpus(2, [](GpuRank& self) -> std::string {
          Tensor made;
          std::jthread([&] {
            made = filled(self, 1000, self.rank() + 1);
            made.scale_(2);
          }).join();
          self.group.all_reduce(made, ReduceOp::sum);
          expect_all(made, 6, "the sum");
          return "";
        })) == "");
}
