// Alternative: a ring of `prefetch` slots; batch k goes through slot k mod prefetch. An epoch has a
// number, so that start() need not wait: what a worker brings back for an older one is thrown away.
#include <exception>
#include <mutex>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/data/loader.hpp"

namespace lockstep::data {
namespace {

class RingLoader final : public Loader {
 public:
  RingLoader(const Dataset& dataset, Sampler sampler, const LoaderOptions& options, Device& device,
             Strands& strands)
      : dataset_(dataset),
        sampler_(std::move(sampler)),
        options_(options),
        device_(device),
        monitor_(strands.make_monitor()),
        ring_(static_cast<std::size_t>(options.prefetch)) {
    for (int worker = 0; worker < options.workers; ++worker) {
      workers_.push_back(strands.start("worker", [this] { work(); }));
    }
  }

  ~RingLoader() override {
    {
      const std::scoped_lock inside(*monitor_);
      end_ = true;
      monitor_->notify_all();
    }
    for (auto& worker : workers_) worker->join();
  }

  void start(int epoch) override {
    const auto order = sampler_(epoch);
    const std::scoped_lock inside(*monitor_);
    ++generation_;
    plan_ = batches_of(order, options_);
    for (Slot& slot : ring_) slot = {};
    head_ = tail_ = 0;
    monitor_->notify_all();
  }

  std::optional<Batch> next() override {
    std::unique_lock inside(*monitor_);
    if (tail_ == plan_.size()) return std::nullopt;
    Slot& slot = ring_[tail_ % ring_.size()];
    monitor_->wait([&] { return slot.full; });
    Slot mine = std::exchange(slot, {});
    ++tail_;
    monitor_->notify_all();
    inside.unlock();
    if (mine.error) std::rethrow_exception(mine.error);
    return mine.batch;
  }

 private:
  struct Slot {
    bool full = false;
    std::optional<Batch> batch;
    std::exception_ptr error;
  };

  void work() {
    std::unique_lock inside(*monitor_);
    for (;;) {
      monitor_->wait([&] {
        return end_ || (head_ != plan_.size() && head_ - tail_ < ring_.size());
      });
      if (end_) return;
      const std::size_t number = head_++;
      const int generation = generation_;
      const std::vector<std::int64_t> indices = plan_[number];
      inside.unlock();
      Slot read;
      read.full = true;
      try {
        read.batch = dataset_.batch(indices, options_.dtype, device_);
      } catch (...) {
        read.error = std::current_exception();
      }
      inside.lock();
      if (generation != generation_) continue;
      ring_[number % ring_.size()] = std::move(read);
      monitor_->notify_all();
    }
  }

  const Dataset& dataset_;
  Sampler sampler_;
  LoaderOptions options_;
  Device& device_;
  std::unique_ptr<Monitor> monitor_;
  std::vector<Slot> ring_;
  std::vector<std::vector<std::int64_t>> plan_;
  std::size_t head_ = 0, tail_ = 0;  // next to begin, next to hand out
  int generation_ = 0;
  bool end_ = false;
  std::vector<std::unique_ptr<Strand>> workers_;
};

}  // namespace

std::unique_ptr<Loader> make_prefetching_loader(const Dataset& dataset, Sampler sampler,
                                                const LoaderOptions& options, Device& device,
                                                Strands& strands) {
  return std::make_unique<RingLoader>(dataset, std::move(sampler), options, device, strands);
}

}  // namespace lockstep::data
