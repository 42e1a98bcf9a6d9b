// Loaders: batches in the order of a sampler, epoch by epoch. What happens between asking for a
// batch and having it (nothing, or workers that read ahead) is the loader's own business.
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

// What becomes of the samples that fill no whole batch. (Not the sampler's Tail, which makes the
// ranks equal; this one is about one rank's last batch.)
enum class LastBatch : std::uint8_t { keep, drop };

class Loader {
 public:
  virtual ~Loader() = default;  // ends what still reads ahead
  // Begins an epoch; what was left of the one before is abandoned.
  virtual void start(int epoch) = 0;
  // The next batch of the epoch, or nothing at its end (again and again) and before the first
  // start. Throws what reading that batch threw; the batch after it can be asked for.
  virtual std::optional<Batch> next() = 0;
};

struct LoaderOptions {
  std::int64_t batch_size = 64;
  LastBatch last = LastBatch::keep;
  int workers = 0;   // strands that read; 0: next() reads itself
  int prefetch = 2;  // batches that may be under way or waiting, over all workers; at least 1
  DType dtype = DType::float32;
};

// The indices of each batch of an epoch that reads in this order. An order that batch_size does not
// divide ends with a short batch, which is kept or dropped.
//   Requires  options.batch_size >= 1
std::vector<std::vector<std::int64_t>> batches_of(std::span<const std::int64_t> order,
                                                  const LoaderOptions& options);

// A loader without workers: next() reads.
std::unique_ptr<Loader> make_plain_loader(const Dataset& dataset, Sampler sampler,
                                          const LoaderOptions& options, Device& device);

// A loader whose workers read ahead. A part: defined in solutions/04_feeding_the_ranks.
//   Ensures   the batches of make_plain_loader, in its order, whatever the workers' speed;
//             once an epoch has started, and after each next(), the `prefetch` batches that follow
//             (or all that are left) are read, each as soon as a worker is free, and no later one:
//             never more than `prefetch` are under way or waiting;
//             an exception of a worker comes out of the next() of its batch, as it was thrown;
//             start() and the destructor end what reads ahead: nothing more of the old epoch is
//             begun, and the destructor waits for the reads that have begun
//   Requires  workers and prefetch at least 1; dataset, device and strands outlive the loader;
//             dataset.batch may be called by several strands at once
//   Thread    sampler, start(), next() and the destructor run on the strand that made the loader,
//             dataset.batch on those of the workers
std::unique_ptr<Loader> make_prefetching_loader(const Dataset& dataset, Sampler sampler,
                                                const LoaderOptions& options, Device& device,
                                                Strands& strands);

}  // namespace lockstep::data
