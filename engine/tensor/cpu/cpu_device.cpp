// The device whose memory and processor are the host's.
#include "engine/base/error.hpp"
#include "engine/tensor/cpu/block_cache.hpp"
#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/device.hpp"

namespace lockstep {

CpuDevice::CpuDevice() : CpuDevice(kernels::portable_products()) {}

CpuDevice::CpuDevice(const kernels::Products& products)
    : Device(Numbers::on_host),
      blocks_(std::make_unique<BlockCache>()),
      kernels_(kernels::make_kernel_table(products)) {}

CpuDevice::~CpuDevice() = default;

std::byte* CpuDevice::allocate(std::size_t bytes) {
  std::byte* data = blocks_->take(bytes);
  if (data == nullptr) {
    throw OutOfMemory(text("cpu: ", bytes, " bytes asked for a tensor, but the host's memory is ",
                           "spent; make the model or the batch smaller"));
  }
  return data;
}

void CpuDevice::release(std::byte* data, std::size_t bytes) noexcept { blocks_->give(data, bytes); }

}  // namespace lockstep
