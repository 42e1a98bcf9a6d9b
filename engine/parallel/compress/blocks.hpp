// How a tensor of n elements travels in 8 bits: it is cut into N parts of equal size, and each part
// travels as a block of bytes.
//
//   part p   elements [p·s, (p+1)·s) with s = ⌈n/N⌉; the last part, or several, may be shorter or
//            empty, and its block ends in padding
//   chunk    elements of a part that share a scale; a part's last chunk may be shorter
//   block    s codes, one byte each, and then the scales of the chunks, float32
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/tensor/tensor.hpp"

namespace lockstep::compress {

struct Cut {
  std::int64_t elements = 0;                                              // s, of a part
  std::int64_t chunk = 1;                                                 // elements of a chunk
  std::int64_t scales() const { return (elements + chunk - 1) / chunk; }  // of a block
  std::int64_t bytes() const { return elements + 4 * scales(); }          // of a block

  // The elements of part p; fewer than s where the data ends.
  std::span<float> part(std::span<float> all, int p) const;
  // Block p of a tensor of blocks, uint8 [blocks · bytes()] on the host.
  std::span<std::byte> block(const Tensor& blocks, int p) const;
};
Cut cut_into(std::int64_t parts, std::int64_t count, std::int64_t chunk);

// The elements as float32 on the host: the tensor itself if it is that already.
//   Throws  ContractError where there are no elements (Device::has_numbers)
Tensor floats_of(const Tensor& data);
// The memory in which the host writes a float32 result with as many elements as `data`: `data`
// itself if possible, else new memory. bring_back() then converts it to the type and the device of
// `data`.
Tensor place_for(const Tensor& data, Device& host);
void bring_back(const Tensor& result, const Tensor& data);

// Tells a modelled device what it costs to quantise or decode these blocks: about four operations
// per element; a float is read and a byte is written, or the other way round.
void charge_for(const Tensor& blocks);

}  // namespace lockstep::compress
