// checksum_of (engine/base/bytes.hpp) over a tensor's bytes: each word's hash needs the one before,
// so one thread hashes, and its block brings the bytes into shared memory.
#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

constexpr int words_of_tile = 1024;

__global__ void hash_bytes(const std::uint8_t* bytes, std::int64_t count, std::uint64_t* result) {
  constexpr std::uint64_t prime = 0x100000001b3ULL;
  __shared__ std::uint64_t tile[words_of_tile];
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ static_cast<std::uint64_t>(count);
  const std::int64_t words = count / 8;
  const bool aligned_words = reinterpret_cast<std::uintptr_t>(bytes) % 8 == 0;
  for (std::int64_t start = 0; start < words; start += words_of_tile) {
    const std::int64_t left = words - start;
    const int part = left < words_of_tile ? static_cast<int>(left) : words_of_tile;
    __syncthreads();  // the tile before has been hashed
    for (int i = static_cast<int>(threadIdx.x); i < part; i += static_cast<int>(blockDim.x)) {
      const std::uint8_t* from = bytes + (start + i) * 8;
      std::uint64_t word = 0;
      if (aligned_words) {
        word = *reinterpret_cast<const std::uint64_t*>(from);
      } else {  // a window into a tensor of bytes may begin anywhere
#pragma unroll
        for (int byte = 0; byte < 8; ++byte) {
          word |= static_cast<std::uint64_t>(from[byte]) << (8 * byte);
        }
      }
      tile[i] = word;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 0; i < part; ++i) {
        hash = (hash ^ tile[i]) * prime;
        hash ^= hash >> 32;
      }
    }
  }
  if (threadIdx.x != 0) return;
  for (std::int64_t at = words * 8; at < count; ++at) hash = (hash ^ bytes[at]) * prime;
  *result = hash;
}

}  // namespace

void checksum(const Call& call, const Tensor& x, const Tensor& sum) {
  hash_bytes<<<1, block_threads, 0, call.stream>>>(elements<const std::uint8_t>(x),
                                                   static_cast<std::int64_t>(x.bytes()),
                                                   elements<std::uint64_t>(sum));
  check_launch("checksum");
}

}  // namespace lockstep::gpu::kernels
