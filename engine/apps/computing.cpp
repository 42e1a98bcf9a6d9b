#include "engine/apps/computing.hpp"

#include <iostream>

#include "engine/apps/program.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "engine/launch/environment.hpp"
#include "engine/tensor/cpu/products.hpp"

namespace lockstep::apps {
namespace {

bool uses_nccl(const Arguments& arguments) {
  return arguments.declared("backend") && arguments.has("--backend nccl");
}

// Paper models one GPU unless it is told otherwise; here each rank of the machine has one.
gpu::GpuOptions gpu_options(const Arguments& arguments, const Seat& seat) {
  gpu::GpuOptions options;
  options.device = seat.rank;
  if (!arguments.flag("paper")) return options;
  options.hardware = gpu::Hardware::paper;
  if (!launch::process_environment()("PAPER_DEVICES")) {
    options.paper = {text("devices=", seat.ranks)};
  }
  return options;
}

// The GPU's own sentences name the option that asks for one GPU.
Lacking lacking(const Arguments& arguments, const gpu::GpuError& error) {
  std::string why = error.what();
  const std::string asked = "--device cuda";
  if (const auto at = why.find(asked); at != std::string::npos && uses_nccl(arguments)) {
    why.replace(at, asked.size(), "--backend nccl");
  }
  return Lacking(why);
}

std::unique_ptr<Device> chosen(const Arguments& arguments, const Seat& seat) {
  if (!uses_gpu(arguments)) return std::make_unique<CpuDevice>(kernels::best_products());
  try {
    return gpu::open_gpu(gpu_options(arguments, seat));
  } catch (const gpu::GpuError& error) {
    throw lacking(arguments, error);
  }
}

}  // namespace

Seat seat_of_process() {
  const launch::Lookup lookup = launch::process_environment();
  if (!launch::is_launched(lookup)) return {};
  const launch::Environment environment = launch::read_environment(lookup);
  return {environment.local_rank, environment.local_world_size};
}

void check_gpus(const Arguments& arguments, int ranks) {
  if (!uses_gpu(arguments)) return;
  int gpus = 0;
  try {
    gpus = gpu::count_gpus(gpu_options(arguments, {0, ranks}));
  } catch (const gpu::GpuError& error) {
    throw lacking(arguments, error);
  }
  if (gpus >= ranks) return;
  throw Lacking(text("--backend nccl gives each of the ", ranks, " ranks a GPU of its own, but ",
                     "CUDA shows ", gpus, gpus == 1 ? " GPU" : " GPUs", " here; pass --ranks ",
                     gpus, arguments.flag("paper") ? "" : ", or add --paper to model them all"));
}

Computing::Computing(const Arguments& arguments, const Seat& seat)
    : device_(chosen(arguments, seat)), on_paper_(arguments.flag("paper")) {}

bool Computing::ends_well() const {
  if (!on_paper_) return true;
  device_->settle();
  const bool clean = gpu::paper_findings().empty();
  if (clean) std::cerr << "paper: no findings" << std::endl;
  return clean;
}

}  // namespace lockstep::apps
