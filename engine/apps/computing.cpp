#include "engine/apps/computing.hpp"

#include <iostream>

#include "engine/apps/program.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "engine/tensor/cpu/products.hpp"

namespace lockstep::apps {
namespace {

std::unique_ptr<Device> chosen(const Arguments& arguments) {
  if (!arguments.has("--device cuda")) {
    return std::make_unique<CpuDevice>(kernels::best_products());
  }
  gpu::GpuOptions options;
  if (arguments.flag("paper")) options.hardware = gpu::Hardware::paper;
  try {
    return gpu::open_gpu(options);
  } catch (const gpu::GpuError& error) {
    throw Lacking(error.what());
  }
}

}  // namespace

Computing::Computing(const Arguments& arguments)
    : device_(chosen(arguments)), on_paper_(arguments.flag("paper")) {}

bool Computing::ends_well() const {
  if (!on_paper_) return true;
  device_->settle();
  const bool clean = gpu::paper_findings().empty();
  if (clean) std::cerr << "paper: no findings" << std::endl;
  return clean;
}

}  // namespace lockstep::apps
