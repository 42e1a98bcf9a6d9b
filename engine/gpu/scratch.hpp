// Device memory for the time of a kernel call, from the device's own blocks. A piece may be given
// back while the kernel that uses it has only been launched: whoever gets the memory next launches
// behind it, on the same stream.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/gpu/block_pool.hpp"

namespace lockstep::gpu {

class Scratch {
 public:
  class Piece {
   public:
    Piece(BlockPool& blocks, std::size_t bytes)
        : blocks_(&blocks), bytes_(bytes), data_(blocks.take(bytes)) {}
    ~Piece() { blocks_->give(data_, bytes_); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    // 256-byte aligned, uninitialised; nullptr for no bytes.
    std::byte* data() const { return data_; }
    template <typename T>
    T* as() const {
      return reinterpret_cast<T*>(data_);
    }

   private:
    BlockPool* blocks_;
    std::size_t bytes_;
    std::byte* data_;
  };

  explicit Scratch(BlockPool& blocks) : blocks_(blocks) {}

  //   Throws  GpuError when the device's memory is spent
  Piece take(std::size_t bytes) const { return {blocks_, bytes}; }
  template <typename T>
  Piece take_of(std::size_t count) const {
    return {blocks_, count * sizeof(T)};
  }

 private:
  BlockPool& blocks_;
};

}  // namespace lockstep::gpu
