// The thinnest slice: a sum, and what the rank's host does meanwhile.
#include "tests/catch.hpp"
#include "tests/nccl/gpu_ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

TEST_CASE("nccl: a sum over all ranks") {
  const int ranks = GENERATE(1, 2, 3);
  CHECK(failures(run_gpus(ranks, [&](GpuRank& self) -> std::string {
          const Tensor x = full({960}, self.rank() + 1, DType::float32, self.gpu);
          self.group.all_reduce(x, ReduceOp::sum);
          expect(self.gpu.host_reads() == 0, "the host waited for the GPU");
          const Tensor here = to_host(x);
          for (std::int64_t i = 0; i < 960; ++i) {
            expect(here.item(i) == ranks * (ranks + 1) / 2,
                   text("element ", i, " is ", here.item(i)));
          }
          return "";
        })) == "");
}
