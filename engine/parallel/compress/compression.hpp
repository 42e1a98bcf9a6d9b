// Which compression a run chooses, and the hook that carries it out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/collectives/bucket.hpp"
#include "engine/parallel/compress/residuals.hpp"

namespace lockstep::compress {

enum class Compressor : std::uint8_t { none, fp16, bf16, int8, top_k, random_k, power_sgd };

struct Compression {
  Compressor compressor = Compressor::none;
  double fraction = 0;    // of top_k and random_k: entries that travel, in (0, 1]
  std::int64_t rank = 0;  // of power_sgd: of the matrices, at least 1
  ErrorFeedback feedback = ErrorFeedback::on;  // of top_k and power_sgd
  bool operator==(const Compression&) const = default;
};

// As a person types it: "none", "fp16", "bf16", "int8", "topk:0.01", "randomk:0.1", "powersgd:4".
//   Throws  UsageError that says what is wrong with which word
Compression compression_of(const std::string& words);
// The same, the other way round. Feedback that is off is said behind it: "topk:0.01 without error
// feedback".
std::string text_of(const Compression& compression);

// True if what a pass leaves out is added to the next one (residuals.hpp).
bool keeps_residuals(const Compression& compression);

// A hook that averages buckets over the group with this compression, the same on every rank.
//   seed      of what is drawn; of the run, so the same on every rank
//   Requires  a compression other than none
// Random-k draws anew for each pass and bucket, as the hook counts them: a run that is resumed
// draws the places of its first passes again.
std::unique_ptr<collectives::CommHook> make_hook(const Compression& compression,
                                                 std::uint64_t seed);

}  // namespace lockstep::compress
