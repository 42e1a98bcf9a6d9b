// One GPU, as CUDA sees it: its memory in blocks, one stream on which all kernels run in the order
// of their calls, and the pinned blocks through which bytes come and go. Lives in
// liblockstep_gpu.so; programs see the Device (open_gpu.hpp).
//
// Tensors have addresses of the GPU, which the host cannot read. What kernels find wrong in data
// waits in a box until settle() (fault_box.hpp).
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "engine/gpu/block_pool.hpp"
#include "engine/gpu/cuda_kernels.hpp"
#include "engine/gpu/fault_box.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "engine/gpu/scratch.hpp"
#include "engine/gpu/transfers.hpp"
#include "engine/tensor/device.hpp"

namespace lockstep::gpu {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const GpuOptions& options);
  ~CudaDevice() override;

  std::string_view name() const override { return name_; }  // "cuda", "cuda on paper"
  const Kernels& kernels() const override {
    choose();
    return kernels_;
  }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data, std::size_t bytes) noexcept override;
  Device& host() override { return host_; }

  // Threads of the host each have a GPU of CUDA's choosing, the first, until they choose.
  void choose() const;
  int number() const { return number_; }
  cudaStream_t stream() const { return stream_.get(); }
  // Called whenever the stream has been waited for, also if that failed. What it throws is thrown.
  //   Thread  any; not from within a check
  std::uint64_t add_check(std::function<void()> check);
  void remove_check(std::uint64_t number);

 private:
  // cudaMalloc and cudaFree.
  class Memory final : public BlockSource {
   public:
    explicit Memory(const CudaDevice& device) : device_(device) {}
    std::byte* obtain(std::size_t bytes) override;
    void give_back(std::byte* block) noexcept override;

   private:
    const CudaDevice& device_;
  };
  // Made in the order in which they stand, destroyed in the other one.
  class Stream {
   public:
    Stream();
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t get() const { return stream_; }

   private:
    cudaStream_t stream_ = nullptr;
  };
  class Blas {
   public:
    explicit Blas(cudaStream_t stream);
    cublasHandle_t get() const { return handle_.get(); }

   private:
    struct Destroy {
      void operator()(cublasHandle_t handle) const { cublasDestroy(handle); }
    };
    std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, Destroy> handle_;
  };

  void finish() override;
  void wait_for_stream();
  [[noreturn]] void refuse(std::size_t bytes) const;

  CpuDevice host_;  // outlives all else: its tensors are copies that callers keep
  const int number_;
  std::string name_;
  std::mutex checks_mutex_;  // guards the two below
  std::map<std::uint64_t, std::function<void()>> checks_;
  std::uint64_t last_check_ = 0;
  Memory memory_;
  BlockPool blocks_;
  Scratch scratch_;
  Stream stream_;
  Transfers transfers_;
  FaultBox faults_;
  Blas blas_;
  CudaKernels kernels_;
};

}  // namespace lockstep::gpu
