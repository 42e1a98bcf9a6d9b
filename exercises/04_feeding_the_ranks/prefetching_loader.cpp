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
// <<< your code

}  // namespace

std::unique_ptr<Loader> make_prefetching_loader(const Dataset& dataset, Sampler sampler,
                                                const LoaderOptions& options, Device& device,
                                                Strands& strands) {
  LOCKSTEP_CHECK(options.workers >= 1 && options.prefetch >= 1,
                 "make_prefetching_loader: ", options.workers, " workers, prefetch ",
                 options.prefetch, "; both are at least 1 (without workers, make_plain_loader)");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)dataset, (void)sampler, (void)options, (void)device, (void)strands;
  throw NotImplemented("prefetching_loader");
  // <<< your code
}

}  // namespace lockstep::data
