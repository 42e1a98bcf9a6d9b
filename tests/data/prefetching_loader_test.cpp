// The loader that reads ahead, on threads: it agrees with the one that does not. How far ahead it
// reads, and when, is proved by its exam, which has a clock of its own.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/data/loader.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t samples = 23;

std::vector<std::int64_t> order_of(int epoch) {
  return random_permutation(samples, static_cast<std::uint64_t>(epoch));
}

// The numbers of the samples themselves, with what a test wants to happen while they are read.
class Counted final : public data::Dataset {
 public:
  explicit Counted(std::function<void(std::int64_t first)> meanwhile)
      : meanwhile_(std::move(meanwhile)) {}

  std::int64_t size() const override { return samples; }
  std::int64_t inputs() const override { return 1; }
  std::int64_t classes() const override { return samples; }
  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    meanwhile_(indices.front());
    const std::vector<double> inputs(indices.begin(), indices.end());
    data::Batch made{from_values(inputs, {std::ssize(indices), 1}, dtype, device),
                     empty({std::ssize(indices)}, DType::int64, device)};
    std::copy(indices.begin(), indices.end(), made.labels.data<std::int64_t>().begin());
    return made;
  }

 private:
  std::function<void(std::int64_t)> meanwhile_;
};

std::vector<std::int64_t> labels_of(const std::optional<data::Batch>& batch) {
  if (!batch) return {};
  const auto labels = batch->labels.data<std::int64_t>();
  return {labels.begin(), labels.end()};
}

}  // namespace

TEST_CASE("prefetching loader: the plain loader's batches, for any workers and prefetch") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  const auto dataset = data::make_synthetic(samples, 3, 4, 7);
  for (const auto last : {data::LastBatch::keep, data::LastBatch::drop}) {
    for (const int workers : {1, 2, 4}) {
      for (const int prefetch : {1, 2, 7, 50}) {
        const data::LoaderOptions options{
            .batch_size = 4, .last = last, .workers = workers, .prefetch = prefetch};
        const auto plain = data::make_plain_loader(*dataset, order_of, options, device);
        const auto ahead =
            data::make_prefetching_loader(*dataset, order_of, options, device, *strands);
        CHECK(!ahead->next());
        for (const int epoch : {0, 1, 1, 5}) {
          plain->start(epoch);
          ahead->start(epoch);
          while (const auto expected = plain->next()) {
            const auto seen = ahead->next();
            REQUIRE(seen);
            CHECK(labels_of(seen) == labels_of(expected));
            CHECK(seen->inputs.shape() == expected->inputs.shape());
            for (std::int64_t i = 0; i < expected->inputs.numel(); ++i) {
              CHECK(seen->inputs.item(i) == expected->inputs.item(i));
            }
          }
          CHECK(!ahead->next());
          CHECK(!ahead->next());
        }
      }
    }
  }
}

TEST_CASE("prefetching loader: the first batch comes first although the second is read before it") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  std::mutex mutex;  // guards read_second
  std::condition_variable changed;
  bool read_second = false;
  const Counted dataset([&](std::int64_t first) {
    std::unique_lock lock(mutex);
    if (first == 0) changed.wait(lock, [&] { return read_second; });
    if (first == 2) read_second = true;
    changed.notify_all();
  });
  const auto loader = data::make_prefetching_loader(
      dataset,
      [](int) {
        return std::vector<std::int64_t>{0, 1, 2, 3};
      },
      {.batch_size = 2, .workers = 2, .prefetch = 2}, device, *strands);
  loader->start(0);
  CHECK(labels_of(loader->next()) == std::vector<std::int64_t>{0, 1});
  CHECK(labels_of(loader->next()) == std::vector<std::int64_t>{2, 3});
  CHECK(!loader->next());
}

TEST_CASE("prefetching loader: an exception comes out at its batch, as it was thrown") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  const Counted dataset([](std::int64_t first) {
    if (first == 4) throw std::range_error("four");
  });
  const auto sequential = [](int) { return std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}; };
  for (const int workers : {1, 2, 4}) {
    const auto loader = data::make_prefetching_loader(
        dataset, sequential, {.batch_size = 2, .workers = workers, .prefetch = 3}, device,
        *strands);
    for (const int epoch : {0, 1}) {
      loader->start(epoch);
      CHECK(labels_of(loader->next()).front() == 0);
      CHECK(labels_of(loader->next()).front() == 2);
      CHECK_THROWS_AS(loader->next(), std::range_error);
      CHECK(labels_of(loader->next()).front() == 6);
      CHECK(!loader->next());
    }
  }
}

TEST_CASE("prefetching loader: destroyed or begun anew early, it reads no more than it had begun") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  std::atomic<int> reads = 0;
  const Counted dataset([&](std::int64_t) { ++reads; });
  for (const int workers : {1, 2, 4}) {
    for (const int taken : {0, 1, 3}) {
      reads = 0;
      auto loader = data::make_prefetching_loader(
          dataset, order_of, {.batch_size = 1, .workers = workers, .prefetch = 3}, device,
          *strands);
      loader->start(0);
      for (int i = 0; i < taken; ++i) CHECK(loader->next());
      loader->start(1);
      CHECK(labels_of(loader->next()).front() == order_of(1).front());
      loader.reset();
      CHECK(reads <= taken + 3 + 1 + 3);
      CHECK(reads >= taken + 1);
    }
  }
  CHECK(device.bytes_now(MemoryKind::buffers) + device.bytes_now(MemoryKind::activations) == 0);
}

TEST_CASE("prefetching loader: without a worker or a place for a batch it is refused") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  const auto dataset = data::make_synthetic(samples, 3, 4, 7);
  for (const data::LoaderOptions& options :
       {data::LoaderOptions{.workers = 0}, {.workers = 1, .prefetch = 0}}) {
    CHECK_THROWS_AS(data::make_prefetching_loader(*dataset, order_of, options, device, *strands),
                    ContractError);
  }
}
