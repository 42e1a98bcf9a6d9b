// Alternative: the trainer decides. It keeps a queue of places that were promised, in order, and
// hands orders to the workers through another queue; a worker fills the place of its order. New
// strands for each epoch, joined before the next one.
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/data/loader.hpp"

namespace lockstep::data {
namespace {

struct Place {
  std::vector<std::int64_t> indices;
  bool filled = false;
  Batch batch;
  std::exception_ptr problem;
};

class OrderingLoader final : public Loader {
 public:
  OrderingLoader(const Dataset& dataset, Sampler sampler, const LoaderOptions& options,
                 Device& device, Strands& strands)
      : dataset_(dataset),
        sampler_(std::move(sampler)),
        options_(options),
        device_(device),
        strands_(strands),
        monitor_(strands.make_monitor()) {}

  ~OrderingLoader() override { close(); }

  void start(int epoch) override {
    close();
    const auto batches = batches_of(sampler_(epoch), options_);
    to_come_.assign(batches.begin(), batches.end());
    closed_ = false;
    for (int place = 0; place < options_.prefetch; ++place) promise_one();
    for (int worker = 0; worker < options_.workers; ++worker) {
      workers_.push_back(strands_.start("reader", [this] { serve(); }));
    }
  }

  std::optional<Batch> next() override {
    const std::scoped_lock inside(*monitor_);
    if (promised_.empty()) return std::nullopt;
    const std::shared_ptr<Place> first = promised_.front();
    monitor_->wait([&] { return first->filled; });
    promised_.pop_front();
    promise_one();
    monitor_->notify_all();
    if (first->problem) std::rethrow_exception(first->problem);
    return std::move(first->batch);
  }

 private:
  void promise_one() {
    if (to_come_.empty()) return;
    auto place = std::make_shared<Place>();
    place->indices = std::move(to_come_.front());
    to_come_.pop_front();
    promised_.push_back(place);
    orders_.push_back(place);
  }

  void close() {
    {
      const std::scoped_lock inside(*monitor_);
      closed_ = true;
      orders_.clear();
      promised_.clear();
      to_come_.clear();
      monitor_->notify_all();
    }
    workers_.clear();
  }

  void serve() {
    while (true) {
      std::shared_ptr<Place> place;
      {
        const std::scoped_lock inside(*monitor_);
        monitor_->wait([&] { return closed_ || !orders_.empty(); });
        if (closed_) return;
        place = orders_.front();
        orders_.pop_front();
      }
      try {
        place->batch = dataset_.batch(place->indices, options_.dtype, device_);
      } catch (...) {
        place->problem = std::current_exception();
      }
      const std::scoped_lock inside(*monitor_);
      place->filled = true;
      monitor_->notify_all();
    }
  }

  const Dataset& dataset_;
  Sampler sampler_;
  LoaderOptions options_;
  Device& device_;
  Strands& strands_;
  std::unique_ptr<Monitor> monitor_;
  std::deque<std::vector<std::int64_t>> to_come_;
  std::deque<std::shared_ptr<Place>> promised_, orders_;
  bool closed_ = true;
  std::vector<std::unique_ptr<Strand>> workers_;
};

}  // namespace

std::unique_ptr<Loader> make_prefetching_loader(const Dataset& dataset, Sampler sampler,
                                                const LoaderOptions& options, Device& device,
                                                Strands& strands) {
  return std::make_unique<OrderingLoader>(dataset, std::move(sampler), options, device, strands);
}

}  // namespace lockstep::data
