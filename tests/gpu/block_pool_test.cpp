// The blocks of a device, with a source that only counts.
#include "engine/gpu/block_pool.hpp"

#include <map>
#include <numeric>
#include <vector>

#include "engine/gpu/open_gpu.hpp"
#include "engine/gpu/scratch.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using gpu::BlockPool;

namespace {

class Counting final : public gpu::BlockSource {
 public:
  explicit Counting(std::size_t room) : room_(room) {}
  std::byte* obtain(std::size_t bytes) override {
    ++asked;
    if (out + bytes > room_) return nullptr;
    out += bytes;
    next_ += std::size_t{1} << 32;
    sizes_[next_] = bytes;
    return reinterpret_cast<std::byte*>(next_);
  }
  void give_back(std::byte* block) noexcept override {
    out -= sizes_.at(reinterpret_cast<std::size_t>(block));
    sizes_.erase(reinterpret_cast<std::size_t>(block));
  }
  std::size_t out = 0;
  int asked = 0;

 private:
  std::size_t room_, next_ = 0;
  std::map<std::size_t, std::size_t> sizes_;
};

constexpr std::size_t MiB = std::size_t{1} << 20;

}  // namespace

TEST_CASE("gpu blocks: a class is a multiple of 512 and at most an eighth more than was asked") {
  for (std::size_t bytes = 1; bytes < 40 * MiB; bytes += 1 + bytes / 7) {
    CAPTURE(bytes);
    const std::size_t size = BlockPool::class_of(bytes);
    CHECK(size >= bytes);
    CHECK(size % 512 == 0);
    CHECK(size - bytes < std::max<std::size_t>(512, bytes / 8 + 1));
    CHECK(BlockPool::class_of(size) == size);
  }
}

TEST_CASE("gpu blocks: what is given comes back at once, for a request of the same class") {
  Counting source(MiB);
  BlockPool pool(source, BlockPool::Keep::blocks);
  std::byte* const first = pool.take(1000);
  CHECK(pool.bytes_out() == 1024);
  pool.give(first, 1000);
  CHECK(pool.bytes_kept() == 1024);
  CHECK(pool.take(1024) == first);
  CHECK(pool.take(1000) != first);
  CHECK(source.asked == 2);
}

TEST_CASE("gpu blocks: no bytes are no block") {
  Counting source(0);
  BlockPool pool(source, BlockPool::Keep::blocks);
  CHECK(pool.take(0) == nullptr);
  pool.give(nullptr, 0);
  CHECK(source.asked == 0);
}

TEST_CASE("gpu blocks: a request that is refused takes what is kept back first") {
  Counting source(10 * MiB);
  BlockPool pool(source, BlockPool::Keep::blocks);
  for (std::size_t i = 1; i <= 4; ++i) pool.give(pool.take(i * MiB), i * MiB);
  CHECK(source.out == 10 * MiB);
  std::byte* const large = pool.take(9 * MiB);
  REQUIRE(large != nullptr);
  CHECK(source.out == 9 * MiB);
  CHECK(pool.try_take(2 * MiB) == nullptr);
  CHECK_THROWS_AS(pool.take(2 * MiB), gpu::GpuError);
  pool.give(large, 9 * MiB);
  CHECK(pool.take(2 * MiB) != nullptr);
}

TEST_CASE("gpu blocks: where nothing is kept, blocks are as large as asked and go back together") {
  Counting source(1024 * MiB);
  BlockPool pool(source, BlockPool::Keep::nothing);
  std::byte* const first = pool.take(1001);
  CHECK(source.out == 1001);
  pool.give(first, 1001);
  CHECK(pool.take(1001) != first);  // another one, until the device was waited for
  CHECK(source.out == 2002);
  pool.settled();
  CHECK(source.out == 1001);
  for (int i = 0; i < 70; ++i) pool.give(pool.take(MiB), MiB);
  CHECK(source.out < 70 * MiB);  // nobody waits, and still they go back
}

TEST_CASE("gpu blocks: a pool that goes gives back what it kept") {
  Counting source(MiB);
  {
    BlockPool pool(source, BlockPool::Keep::blocks);
    const gpu::Scratch scratch(pool);
    const auto piece = scratch.take_of<double>(100);
    CHECK(pool.bytes_out() == 1024);
    CHECK(piece.as<double>() == static_cast<void*>(piece.data()));
  }
  CHECK(source.out == 0);
}
