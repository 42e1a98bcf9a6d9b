// Copies between the host and the device that do not stop the host. CUDA copies in the background
// only from and to pinned memory, and pinning is slow: so pinned blocks are kept, and bytes pass
// through them.
//
//   upload    the bytes are copied into a block, and from there in the stream's turn
//   download  a copy into a block in the stream's turn; finish() copies on to where it is wanted
//
// A block of an upload is free again when its event has come. At most `pinned_bytes_max` are
// pinned: beyond them the host waits. Events order nothing but the host's own use of its blocks.
// Thread: upload any, the rest one at a time; the mutex guards all.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "engine/gpu/cuda_kernels.hpp"

namespace lockstep::gpu {

class Transfers final : public Staging {
 public:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;
  static constexpr std::size_t pinned_bytes_max = std::size_t{64} << 20;

  explicit Transfers(cudaStream_t stream) : stream_(stream) {}
  ~Transfers() override;
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void upload(std::span<const std::byte> from, std::byte* to) override;
  // `to` must be there until finish() or forget().   Throws  GpuError, and has forgotten them all
  void download(const std::byte* from, std::span<std::byte> to) override;
  // Downloads that have not arrived; finish() with their number, when the stream has been waited
  // for in between, lets them arrive.
  std::size_t asked_for();
  void finish(std::size_t downloads);
  // Nobody wants the downloads any more: where they should have arrived is gone. Waits for the
  // stream.
  void forget() noexcept;

 private:
  struct Block {
    std::byte* memory = nullptr;
    cudaEvent_t used = nullptr;  // the copy that uses it has been made
  };
  struct Arrival {
    Block block;
    std::span<std::byte> to;
  };
  // Under the mutex.
  void ask_for(const std::byte* from, std::span<std::byte> to);
  void forget_arrivals() noexcept;
  void collect_uploads();
  Block free_block();
  Block new_block();
  void destroy(const Block& block) noexcept;

  const cudaStream_t stream_;
  std::mutex mutex_;
  std::vector<Block> free_;
  std::deque<Block> uploading_;  // in the order of the stream
  std::deque<Arrival> arriving_;
  std::size_t blocks_made_ = 0;
};

}  // namespace lockstep::gpu
