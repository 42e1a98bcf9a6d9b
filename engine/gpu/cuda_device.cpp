#include "engine/gpu/cuda_device.hpp"

#include <array>
#include <utility>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "engine/gpu/cuda_check.hpp"

namespace lockstep::gpu {
namespace {

int devices_shown() {
  int devices = 0;
  if (const auto error = cudaGetDeviceCount(&devices); error != cudaSuccess) throw_no_gpu(error);
  if (devices == 0) throw_no_gpu(cudaErrorNoDevice);
  return devices;
}

// Before anything is made: the driver and the GPU are asked for here, so that what is missing is
// told in one place. CUDA_VISIBLE_DEVICES chooses which GPUs CUDA shows.
std::string opened(const GpuOptions& options) {
  const int devices = devices_shown();
  if (options.device < 0 || options.device >= devices) {
    throw GpuError(text("this process is to use GPU number ", options.device, ", but CUDA shows ",
                        devices, devices == 1 ? " GPU" : " GPUs",
                        ", counted from 0; start at most as many ranks on this machine"));
  }
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, options.device),
        "cudaDeviceGetAttribute");
  if (major < 8) throw_no_gpu(cudaErrorNoKernelImageForDevice);
  check(cudaSetDevice(options.device), "cudaSetDevice");
  cudaGetLastError();  // of a device before this one, whose end could not tell of it
  return on_paper() ? "cuda on paper" : "cuda";
}

BlockPool::Keep keep_of(const GpuOptions& options) {
  const bool kept =
      options.blocks == Blocks::kept || (options.blocks == Blocks::chosen && !on_paper());
  return kept ? BlockPool::Keep::blocks : BlockPool::Keep::nothing;
}

}  // namespace

std::byte* CudaDevice::Memory::obtain(std::size_t bytes) {
  device_.choose();
  void* block = nullptr;
  const cudaError_t error = cudaMalloc(&block, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is no failure yet, and must not be taken for that of a launch
    return nullptr;
  }
  check(error, "cudaMalloc");
  return static_cast<std::byte*>(block);
}

void CudaDevice::Memory::give_back(std::byte* block) noexcept { cudaFree(block); }

CudaDevice::Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}
// Work that was launched still uses the members that stand before the stream.
CudaDevice::Stream::~Stream() {
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
}

CudaDevice::Blas::Blas(cudaStream_t stream) {
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle), "cublasCreate");
  handle_.reset(handle);
  check(cublasSetStream(handle, stream), "cublasSetStream");
}

CudaDevice::CudaDevice(const GpuOptions& options)
    : Device(Numbers::away),
      number_(options.device),
      name_(opened(options)),
      memory_(*this),
      blocks_(memory_, keep_of(options)),
      scratch_(blocks_),
      transfers_(stream_.get()),
      faults_(stream_.get()),
      blas_(stream_.get()),
      kernels_(stream_.get(), blas_.get(), faults_, scratch_, transfers_) {}

// The copies' blocks and the record of faults go before the stream does, so it is waited for first.
CudaDevice::~CudaDevice() { cudaStreamSynchronize(stream_.get()); }

std::byte* CudaDevice::allocate(std::size_t bytes) {
  std::byte* block = blocks_.try_take(bytes);
  if (block == nullptr && bytes != 0) refuse(bytes);
  return block;
}

void CudaDevice::release(std::byte* data, std::size_t bytes) noexcept { blocks_.give(data, bytes); }

void CudaDevice::choose() const {
  if (number_ != 0) cudaSetDevice(number_);  // of a device that has failed, the next call tells
}

std::uint64_t CudaDevice::add_check(std::function<void()> check) {
  const std::scoped_lock lock(checks_mutex_);
  checks_[++last_check_] = std::move(check);
  return last_check_;
}

void CudaDevice::remove_check(std::uint64_t number) {
  const std::scoped_lock lock(checks_mutex_);
  checks_.erase(number);
}

// A failure of a group of ranks comes before the device's own error, which is its consequence: a
// collective that was aborted, or that made the device fail.
void CudaDevice::wait_for_stream() {
  std::exception_ptr failure;
  try {
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  } catch (const GpuError&) {
    failure = std::current_exception();
  }
  const std::scoped_lock lock(checks_mutex_);
  for (const auto& [number, of_group] : checks_) of_group();
  if (failure) std::rethrow_exception(failure);
}

// A read of the host: all downloads arrive, and what kernels found is thrown.
void CudaDevice::finish() {
  choose();
  const std::size_t downloads = transfers_.asked_for();
  try {
    faults_.collect();
    wait_for_stream();
  } catch (...) {
    transfers_.forget();
    throw;
  }
  transfers_.finish(downloads);
  blocks_.settled();
  faults_.tell();
}

void CudaDevice::refuse(std::size_t bytes) const {
  std::string table;
  for (std::size_t i = 0; i < memory_kinds; ++i) {
    const auto kind = static_cast<MemoryKind>(i);
    table += text(i == 0 ? "" : ", ", name_of(kind), " ", bytes_text(bytes_now(kind)));
  }
  std::size_t free = 0, total = 0;
  const bool known = cudaMemGetInfo(&free, &total) == cudaSuccess;
  throw GpuError(
      text(name_, ": ", bytes_text(static_cast<std::int64_t>(bytes)), " asked for a tensor, but ",
           known ? text("only ", bytes_text(static_cast<std::int64_t>(free)), " of the GPU's ",
                        bytes_text(static_cast<std::int64_t>(total)), " are free")
                 : std::string("the GPU's memory is spent"),
           ". This run holds: ", table,
           ". A smaller batch, model or sequence needs less, and so do bfloat16 and, in training, ",
           "--recompute"));
}

}  // namespace lockstep::gpu

// The symbol that open_gpu() looks for. C++ exceptions pass through.
extern "C" lockstep::Device* lockstep_open_cuda_device(const lockstep::gpu::GpuOptions& options) {
  return new lockstep::gpu::CudaDevice(options);
}

// The symbol that count_gpus() looks for.
extern "C" int lockstep_count_cuda_devices() { return lockstep::gpu::devices_shown(); }
