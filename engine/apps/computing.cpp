#include "engine/apps/computing.hpp"

#include <iostream>

#include "engine/apps/host_products.hpp"
#include "engine/apps/program.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::apps {
namespace {

bool uses_nccl(const Arguments& arguments) {
  return arguments.declared("backend") && arguments.has("--backend nccl");
}

gpu::GpuOptions gpu_options(const Arguments& arguments, const Seat& seat) {
  gpu::GpuOptions options;
  options.device = seat.gpu;
  if (!arguments.flag("paper")) return options;
  options.hardware = gpu::Hardware::paper;
  options.paper = seat.paper;
  if (arguments.declared("trace") && arguments.given("trace")) options.paper.push_back("history=1");
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
  if (!uses_gpu(arguments)) return std::make_unique<CpuDevice>(host_products());
  try {
    return gpu::open_gpu(gpu_options(arguments, seat));
  } catch (const gpu::GpuError& error) {
    throw lacking(arguments, error);
  }
}

}  // namespace

int gpus_shown(const Arguments& arguments, const Seat& seat) {
  try {
    return gpu::count_gpus(gpu_options(arguments, seat));
  } catch (const gpu::GpuError& error) {
    throw lacking(arguments, error);
  }
}

Computing::Computing(const Arguments& arguments, const Seat& seat)
    : device_(chosen(arguments, seat)), on_paper_(uses_gpu(arguments) && gpu::on_paper()) {}

bool Computing::ends_well() const {
  if (!on_paper_) return true;
  device_->settle();
  const bool clean = gpu::paper_findings().empty();
  if (clean) std::cerr << "paper: no findings" << std::endl;
  return clean;
}

}  // namespace lockstep::apps
