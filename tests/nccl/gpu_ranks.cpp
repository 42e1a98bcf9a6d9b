#include "tests/nccl/gpu_ranks.hpp"

#include <cstdlib>

namespace lockstep::test {

std::unique_ptr<Device> gpu_on_paper(int rank, const GpuRun& run) {
  const char* const hardware = std::getenv("LOCKSTEP_TEST_HARDWARE");
  if (hardware != nullptr && std::string(hardware) == "nvidia") {
    return gpu::open_gpu({gpu::Hardware::nvidia, run.blocks, {}, rank});
  }
  gpu::GpuOptions options{gpu::Hardware::paper, run.blocks, {"devices=8"}, rank};
  options.paper.insert(options.paper.end(), run.paper.begin(), run.paper.end());
  return gpu::open_gpu(options);
}

std::vector<Outcome> run_gpus(int ranks, const GpuBody& body, const GpuRun& run) {
  return run_processes(ranks, [&](comm::Store& store, int rank) {
    auto device = gpu_on_paper(rank, run);
    std::string said;
    {
      comm::GlooOptions of_host;
      of_host.timeout_s = run.timeout_s;
      of_host.transport = run.words;
      CpuDevice host;
      const auto group =
          comm::make_nccl_group(store, *device, comm::make_gloo_group(store, rank, ranks, of_host),
                                {.timeout_s = run.timeout_s});
      GpuRank self{*device, host, *group};
      said = body(self);
      if (run.findings == GpuRun::Findings::fail) device->settle();
    }
    device.reset();
    const std::string found = gpu::paper_findings();
    if (run.findings == GpuRun::Findings::fail) expect(found.empty(), found);
    return said;
  });
}

}  // namespace lockstep::test
