// Task: a loader whose workers read ahead. Reading a batch takes time (a disk, a decoder), training
// on one does too; a loader that begins to read when it is asked makes the two wait for each other.
// Here worker strands read the next `prefetch` batches while the training computes. They may finish
// in any order; the batches come out in the sampler's. What reads ahead also stops: at `prefetch`
// batches, at the end of the epoch, when another epoch starts, and when the loader is destroyed.
// The contract stands in engine/data/loader.hpp; batches_of there cuts an epoch into batches.
// Strands share what a monitor guards (engine/strand/monitor.hpp, with an example).
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/data/loader.hpp"

namespace lockstep::data {
namespace {

// >>> your code
// Step 1. A class that is a Loader, with one worker strand that reads `prefetch` batches ahead.
// Step 2. `workers` strands: batches are finished in any order and handed out in the sampler's.
// Step 3. Exceptions come out of the next() of their batch, start() abandons what is left of an
//         epoch, and the destructor ends the strands at any time.
//
// Invariants, of what the monitor guards
//   1. Batches [0, taken_) were handed out; [taken_, begun_) are being read or wait in finished_,
//      and begun_ <= taken_ + prefetch; the others wait for a worker.
//   2. reading_ workers are outside the monitor with a batch they will bring back.
class PrefetchingLoader final : public Loader {
 public:
  PrefetchingLoader(const Dataset& dataset, Sampler sampler, const LoaderOptions& options,
                    Device& device, Strands& strands)
      : dataset_(dataset),
        sampler_(std::move(sampler)),
        options_(options),
        device_(device),
        monitor_(strands.make_monitor()) {}

  // Not in the constructor: if a strand cannot be started, the destructor ends those before it.
  void start_workers(Strands& strands) {
    for (int worker = 0; worker < options_.workers; ++worker) {
      workers_.push_back(strands.start(text("loader ", worker), [this] { work(); }));
    }
  }

  ~PrefetchingLoader() override {
    const std::scoped_lock inside(*monitor_);
    stopping_ = true;
    monitor_->notify_all();
  }  // then workers_ joins them

  void start(int epoch) override {
    auto batches = batches_of(sampler_(epoch), options_);
    const std::scoped_lock inside(*monitor_);
    begun_ = batches_.size();  // of the old epoch nothing more is begun
    monitor_->wait([&] { return reading_ == 0; });
    batches_ = std::move(batches);
    finished_.clear();
    taken_ = begun_ = 0;
    monitor_->notify_all();
  }

  std::optional<Batch> next() override {
    Finished finished;
    {
      const std::scoped_lock inside(*monitor_);
      if (taken_ == batches_.size()) return std::nullopt;
      monitor_->wait([&] { return finished_.contains(taken_); });
      finished = std::move(finished_.extract(taken_++).mapped());
      monitor_->notify_all();  // there is room for another one
    }
    if (finished.failure) std::rethrow_exception(finished.failure);
    return std::move(finished.batch);
  }

 private:
  struct Finished {
    Batch batch;
    std::exception_ptr failure;
  };

  Finished read(const std::vector<std::int64_t>& indices) const {
    try {
      return {dataset_.batch(indices, options_.dtype, device_), nullptr};
    } catch (...) {
      return {{}, std::current_exception()};
    }
  }

  void work() {
    const auto prefetch = static_cast<std::size_t>(options_.prefetch);
    std::unique_lock inside(*monitor_);
    while (true) {
      monitor_->wait(
          [&] { return stopping_ || (begun_ < batches_.size() && begun_ < taken_ + prefetch); });
      if (stopping_) return;
      const std::size_t number = begun_++;
      ++reading_;
      inside.unlock();
      Finished finished = read(batches_[number]);  // start() waits before it changes batches_
      inside.lock();
      --reading_;
      finished_.emplace(number, std::move(finished));
      monitor_->notify_all();
    }
  }

  const Dataset& dataset_;
  Sampler sampler_;
  LoaderOptions options_;
  Device& device_;
  std::unique_ptr<Monitor> monitor_;                // guards what follows
  std::vector<std::vector<std::int64_t>> batches_;  // of this epoch
  std::size_t taken_ = 0, begun_ = 0;
  int reading_ = 0;
  std::map<std::size_t, Finished> finished_;  // by number of the batch
  bool stopping_ = false;
  std::vector<std::unique_ptr<Strand>> workers_;  // last: ends before what it uses
};
// <<< your code

}  // namespace

std::unique_ptr<Loader> make_prefetching_loader(const Dataset& dataset, Sampler sampler,
                                                const LoaderOptions& options, Device& device,
                                                Strands& strands) {
  LOCKSTEP_CHECK(options.workers >= 1 && options.prefetch >= 1,
                 "make_prefetching_loader: ", options.workers, " workers, prefetch ",
                 options.prefetch, "; both are at least 1 (without workers, make_plain_loader)");
  // >>> your code
  auto loader =
      std::make_unique<PrefetchingLoader>(dataset, std::move(sampler), options, device, strands);
  loader->start_workers(strands);
  return loader;
  // <<< your code
}

}  // namespace lockstep::data
