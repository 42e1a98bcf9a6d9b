// The loader that does nothing ahead: a batch is read when it is asked for. What every other loader
// must agree with.
#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/data/loader.hpp"

namespace lockstep::data {
namespace {

class PlainLoader final : public Loader {
 public:
  PlainLoader(const Dataset& dataset, Sampler sampler, const LoaderOptions& options, Device& device)
      : dataset_(dataset), sampler_(std::move(sampler)), options_(options), device_(device) {}

  void start(int epoch) override {
    batches_ = batches_of(sampler_(epoch), options_);
    taken_ = 0;
  }

  std::optional<Batch> next() override {
    if (taken_ == batches_.size()) return std::nullopt;
    const std::vector<std::int64_t>& indices = batches_[taken_++];
    return dataset_.batch(indices, options_.dtype, device_);
  }

 private:
  const Dataset& dataset_;
  Sampler sampler_;
  LoaderOptions options_;
  Device& device_;
  std::vector<std::vector<std::int64_t>> batches_;  // of this epoch
  std::size_t taken_ = 0;                           // how many of them next() has begun
};

}  // namespace

std::vector<std::vector<std::int64_t>> batches_of(std::span<const std::int64_t> order,
                                                  const LoaderOptions& options) {
  LOCKSTEP_CHECK(options.batch_size >= 1, "a batch of ", options.batch_size,
                 " samples; LoaderOptions::batch_size is at least 1");
  const auto batch_size = static_cast<std::size_t>(options.batch_size);
  std::vector<std::vector<std::int64_t>> batches;
  for (std::size_t first = 0; first < order.size(); first += batch_size) {
    const std::size_t size = std::min(batch_size, order.size() - first);
    if (size < batch_size && options.last == LastBatch::drop) break;
    const auto part = order.subspan(first, size);
    batches.emplace_back(part.begin(), part.end());
  }
  return batches;
}

std::unique_ptr<Loader> make_plain_loader(const Dataset& dataset, Sampler sampler,
                                          const LoaderOptions& options, Device& device) {
  return std::make_unique<PlainLoader>(dataset, std::move(sampler), options, device);
}

}  // namespace lockstep::data
