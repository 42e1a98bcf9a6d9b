#include "engine/tensor/cpu/block_cache.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/base/text.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

constexpr std::size_t large = BlockCache::block_bytes_min;

}  // namespace

TEST_CASE("block cache: blocks are aligned and writable to their last byte, small and large") {
  BlockCache cache;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63},
                                  std::size_t{4096}, large - 1, large, large + 1, 17 * large + 5}) {
    std::byte* block = cache.take(bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    std::memset(block, 0x5A, bytes);
    cache.give(block, bytes);
  }
}

TEST_CASE("block cache: rounding adds less than an eighth, in pages, and gives few sizes") {
  std::size_t sizes = 0, last = 0;
  std::string wrong;
  for (std::size_t bytes = large; bytes <= 4 * large; bytes += 13) {
    const std::size_t size = BlockCache::rounded(bytes);
    if (size < bytes || size - bytes >= bytes / 8 || size % 4096 != 0) {
      wrong = text(bytes, " became ", size);
    }
    sizes += size != last ? 1 : 0;
    last = size;
  }
  CHECK(wrong == "");
  CHECK(sizes == 17);  // eight an octave, and the first
}

TEST_CASE(
    "block cache: what is given back is given out again at its size, under a sanitizer never") {
  BlockCache cache;
  std::byte* first = cache.take(2 * large);
  cache.give(first, 2 * large);
  if (!BlockCache::keeps_blocks()) {
    CHECK(cache.bytes_kept() == 0);
    return;
  }
  CHECK(cache.bytes_kept() == 2 * large);
  CHECK(cache.take(2 * large - 1) == first);  // rounds to the same size
  CHECK(cache.bytes_kept() == 0);
  std::byte* small = cache.take(large - 1);
  cache.give(small, large - 1);
  CHECK(cache.bytes_kept() == 0);
  cache.give(first, 2 * large - 1);
}

TEST_CASE("block cache: what is kept and what is out stay within half more than was ever out") {
  BlockCache cache;
  std::vector<std::pair<std::byte*, std::size_t>> out;
  std::size_t bytes_out = 0, most = 0;
  std::string wrong;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    const bool gives = !out.empty() && (out.size() > 12 || random_bits(3, i) % 2 == 0);
    if (gives) {
      const auto [block, bytes] = out.back();
      out.pop_back();
      cache.give(block, bytes);
      bytes_out -= BlockCache::rounded(bytes);
    } else {
      const std::size_t bytes = large * (1 + random_bits(4, i) % 40);
      out.emplace_back(cache.take(bytes), bytes);
      bytes_out += BlockCache::rounded(bytes);
      most = std::max(most, bytes_out);
    }
    if (bytes_out + cache.bytes_kept() > most + most / 2) wrong = text("step ", i);
  }
  CHECK(wrong == "");
  for (const auto& [block, bytes] : out) cache.give(block, bytes);
}

TEST_CASE("block cache: a request that no memory can meet is answered with nothing") {
  BlockCache cache;
  CHECK(cache.take(std::size_t{1} << 63) == nullptr);
  if (BlockCache::keeps_blocks()) {  // a sanitizer's allocator ends the program instead
    std::byte* kept = cache.take(3 * large);
    cache.give(kept, 3 * large);
    CHECK(cache.take(std::size_t{1} << 61) == nullptr);
    CHECK(cache.bytes_kept() == 0);  // it was given back in the attempt
  }
  std::byte* after = cache.take(large);
  CHECK(after != nullptr);
  cache.give(after, large);
}

TEST_CASE("block cache: threads never hold the same block") {
  BlockCache cache;
  std::vector<int> spoiled(4, 0);
  {
    std::vector<std::jthread> threads;
    for (int me = 0; me < 4; ++me) {
      threads.emplace_back([&cache, &spoiled, me] {
        for (std::uint64_t i = 0; i < 500; ++i) {
          const std::size_t bytes = large * (1 + random_bits(5, i) % 3);
          std::byte* block = cache.take(bytes);
          std::memset(block, me, 256);
          std::memset(block + bytes - 256, me, 256);
          for (const std::size_t at : {std::size_t{0}, bytes - 1}) {
            if (block[at] != std::byte(me)) ++spoiled[static_cast<std::size_t>(me)];
          }
          cache.give(block, bytes);
        }
      });
    }
  }
  CHECK(spoiled == std::vector<int>(4, 0));
}
