// A right loader that keeps a copy of every batch, in memory of its own: the device's
// account knows nothing of it.
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "engine/data/loader.hpp"

namespace lockstep::data {
namespace {

class HoardingLoader final : public Loader {
 public:
  HoardingLoader(const Dataset& dataset, Sampler sampler, const LoaderOptions& options,
                 Device& device, Strands& strands)
      : dataset_(dataset),
        sampler_(std::move(sampler)),
        options_(options),
        device_(device),
        monitor_(strands.make_monitor()) {}

  void start_workers(Strands& strands) {
    for (int worker = 0; worker < options_.workers; ++worker) {
      workers_.push_back(strands.start("worker", [this] { work(); }));
    }
  }
  ~HoardingLoader() override {
    const std::scoped_lock inside(*monitor_);
    stopping_ = true;
    monitor_->notify_all();
  }

  void start(int epoch) override {
    auto batches = batches_of(sampler_(epoch), options_);
    const std::scoped_lock inside(*monitor_);
    begun_ = batches_.size();
    monitor_->wait([&] { return reading_ == 0; });
    batches_ = std::move(batches);
    finished_.clear();
    taken_ = begun_ = 0;
    monitor_->notify_all();
  }

  std::optional<Batch> next() override {
    std::unique_lock inside(*monitor_);
    if (taken_ == batches_.size()) return std::nullopt;
    monitor_->wait([&] { return finished_.contains(taken_); });
    auto [batch, failure] = std::move(finished_.extract(taken_++).mapped());
    monitor_->notify_all();
    inside.unlock();
    if (failure) std::rethrow_exception(failure);
    const auto bytes = batch.inputs.raw_bytes();
    hoard_.emplace_back(bytes.begin(), bytes.end());
    return std::move(batch);
  }

 private:
  void work() {
    std::unique_lock inside(*monitor_);
    const auto may_begin = [&] {
      return begun_ < batches_.size() &&
             begun_ < taken_ + static_cast<std::size_t>(options_.prefetch);
    };
    while (true) {
      monitor_->wait([&] { return stopping_ || may_begin(); });
      if (stopping_) return;
      const std::size_t number = begun_++;
      ++reading_;
      inside.unlock();
      std::pair<Batch, std::exception_ptr> read;
      try {
        read.first = dataset_.batch(batches_[number], options_.dtype, device_);
      } catch (...) {
        read.second = std::current_exception();
      }
      inside.lock();
      --reading_;
      finished_.emplace(number, std::move(read));
      monitor_->notify_all();
    }
  }

  const Dataset& dataset_;
  Sampler sampler_;
  LoaderOptions options_;
  Device& device_;
  std::unique_ptr<Monitor> monitor_;
  std::vector<std::vector<std::int64_t>> batches_;
  std::size_t taken_ = 0, begun_ = 0;
  int reading_ = 0;
  std::map<std::size_t, std::pair<Batch, std::exception_ptr>> finished_;
  bool stopping_ = false;
  std::vector<std::vector<std::byte>> hoard_;
  std::vector<std::unique_ptr<Strand>> workers_;
};

}  // namespace

std::unique_ptr<Loader> make_prefetching_loader(const Dataset& dataset, Sampler sampler,
                                                const LoaderOptions& options, Device& device,
                                                Strands& strands) {
  auto loader =
      std::make_unique<HoardingLoader>(dataset, std::move(sampler), options, device, strands);
  loader->start_workers(strands);
  return loader;
}

}  // namespace lockstep::data
