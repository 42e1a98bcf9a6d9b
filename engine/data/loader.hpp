// Loaders: batches in the order of a sampler, epoch by epoch. A loader may read when it is asked,
// or let workers read ahead; the batches are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::data {

// The order in which one epoch reads samples: distributed_indices with that epoch, for example.
using Sampler = std::function<std::vector<std::int64_t>(int epoch)>;

// The treatment of a rank's last batch if it is short. (The sampler's Tail is about something else:
// it makes the ranks' shares equal.)
enum class LastBatch : std::uint8_t { keep, drop };

class Loader {
 public:
  virtual ~Loader() = default;  // ends all workers
  // Starts an epoch, and abandons the rest of the one before.
  virtual void start(int epoch) = 0;
  // The next batch of the epoch. Returns nothing at its end (again and again), and before the first
  // start. Throws what reading that batch threw; the next call returns the batch after it.
  virtual std::optional<Batch> next() = 0;
};

struct LoaderOptions {
  std::int64_t batch_size = 64;
  LastBatch last = LastBatch::keep;
  int workers = 0;   // strands that read; 0: next() reads itself
  int prefetch = 2;  // batches being read or waiting, at most, over all workers; at least 1
  DType dtype = DType::float32;
};

// The indices of each batch of an epoch with this order. If batch_size does not divide its length,
// the last batch is short, and is kept or dropped.
//   Requires  options.batch_size >= 1
std::vector<std::vector<std::int64_t>> batches_of(std::span<const std::int64_t> order,
                                                  const LoaderOptions& options);

// A loader without workers: next() reads.
std::unique_ptr<Loader> make_plain_loader(const Dataset& dataset, Sampler sampler,
                                          const LoaderOptions& options, Device& device);

// A loader whose workers read ahead. A part: defined in solutions/04_feeding_the_ranks.
//   Ensures   the batches of make_plain_loader, in its order, whatever the workers' speed;
//             after start() and after each next(), workers read the next `prefetch` batches (or
//             all that are left), each as soon as a worker is free, and none beyond them: at most
//             `prefetch` batches are being read or waiting;
//             an exception of a worker comes out of the next() of its batch, with its own type;
//             after start() and in the destructor, no further read of the old epoch starts; those
//             under way may count among the `prefetch` until they end, or not. The destructor waits
//             for them
//   Requires  workers and prefetch at least 1; dataset, device and strands outlive the loader;
//             dataset.batch may be called by several strands at once
//   Thread    sampler, start(), next() and the destructor run on the strand that made the loader,
//             dataset.batch on those of the workers
std::unique_ptr<Loader> make_prefetching_loader(const Dataset& dataset, Sampler sampler,
                                                const LoaderOptions& options, Device& device,
                                                Strands& strands);

}  // namespace lockstep::data
