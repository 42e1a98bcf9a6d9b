#include "engine/gpu/transfers.hpp"

#include <algorithm>
#include <cstring>

#include "engine/gpu/cuda_check.hpp"

namespace lockstep::gpu {
namespace {

// "Not yet" is an answer, but CUDA also keeps it as the last error, which the check of the next
// launch would find.
bool has_come(cudaEvent_t event) {
  const cudaError_t answer = cudaEventQuery(event);
  if (answer == cudaSuccess) return true;
  if (answer != cudaErrorNotReady) throw_cuda(answer, "cudaEventQuery");
  cudaGetLastError();
  return false;
}

}  // namespace

// The stream was waited for before, or failed: no copy uses a block any more.
Transfers::~Transfers() {
  for (const Block& block : free_) destroy(block);
  for (const Block& block : uploading_) destroy(block);
  for (const Arrival& arrival : arriving_) destroy(arrival.block);
}

void Transfers::upload(std::span<const std::byte> from, std::byte* to) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t at = 0; at < from.size(); at += block_bytes) {
    const auto part = from.subspan(at, std::min(block_bytes, from.size() - at));
    const Block block = free_block();
    uploading_.push_back(block);  // the owner, whatever fails from here on
    std::memcpy(block.memory, part.data(), part.size());
    check(cudaMemcpyAsync(to + at, block.memory, part.size(), cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync to the device");
    check(cudaEventRecord(block.used, stream_), "cudaEventRecord");
  }
}

void Transfers::download(const std::byte* from, std::span<std::byte> to) {
  const std::scoped_lock lock(mutex_);
  try {
    for (std::size_t at = 0; at < to.size(); at += block_bytes) {
      ask_for(from + at, to.subspan(at, std::min(block_bytes, to.size() - at)));
    }
  } catch (...) {
    forget_arrivals();
    throw;
  }
}

void Transfers::ask_for(const std::byte* from, std::span<std::byte> to) {
  arriving_.push_back({free_block(), to});
  check(cudaMemcpyAsync(arriving_.back().block.memory, from, to.size(), cudaMemcpyDeviceToHost,
                        stream_),
        "cudaMemcpyAsync to the host");
}

void Transfers::forget() noexcept {
  const std::scoped_lock lock(mutex_);
  forget_arrivals();
}

// Copies into the blocks may still be under way.
void Transfers::forget_arrivals() noexcept {
  if (arriving_.empty()) return;
  cudaStreamSynchronize(stream_);
  for (; !arriving_.empty(); arriving_.pop_front()) free_.push_back(arriving_.front().block);
}

std::size_t Transfers::asked_for() {
  const std::scoped_lock lock(mutex_);
  return arriving_.size();
}

// Since the stream was waited for, another thread may have asked for more.
void Transfers::finish(std::size_t downloads) {
  const std::scoped_lock lock(mutex_);
  for (; downloads > 0; --downloads, arriving_.pop_front()) {
    const Arrival& arrival = arriving_.front();
    std::memcpy(arrival.to.data(), arrival.block.memory, arrival.to.size());
    free_.push_back(arrival.block);
  }
  collect_uploads();
}

void Transfers::collect_uploads() {
  while (!uploading_.empty() && has_come(uploading_.front().used)) {
    free_.push_back(uploading_.front());
    uploading_.pop_front();
  }
}

Transfers::Block Transfers::free_block() {
  collect_uploads();
  if (free_.empty()) {
    // Downloads hold their blocks until finish(), so beyond the bound only uploads are waited for.
    const bool waits = blocks_made_ * block_bytes >= pinned_bytes_max && !uploading_.empty();
    if (!waits) return new_block();
    check(cudaEventSynchronize(uploading_.front().used), "cudaEventSynchronize");
    free_.push_back(uploading_.front());
    uploading_.pop_front();
  }
  const Block block = free_.back();
  free_.pop_back();
  return block;
}

Transfers::Block Transfers::new_block() {
  Block block;
  void* memory = nullptr;
  check(cudaMallocHost(&memory, block_bytes), "cudaMallocHost");
  block.memory = static_cast<std::byte*>(memory);
  if (const auto error = cudaEventCreateWithFlags(&block.used, cudaEventDisableTiming);
      error != cudaSuccess) {
    cudaFreeHost(memory);
    throw_cuda(error, "cudaEventCreate");
  }
  ++blocks_made_;
  return block;
}

void Transfers::destroy(const Block& block) noexcept {
  cudaEventDestroy(block.used);
  cudaFreeHost(block.memory);
}

}  // namespace lockstep::gpu
