// A look at the state of a run: is it all numbers? One NaN in a weight makes every later loss NaN,
// so such a state is worth neither keeping nor calling equal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "engine/checkpoint/piece.hpp"

namespace lockstep::checkpoint {

// Reads every element once: as fast as memory, on the host; what lies on another device is copied
// there, a piece at a time.
//   Returns  the first piece with an element that is NaN or infinite, or is a weight whose square
//            would be: "0.weight is nan"; empty when there is none. Passes and norms square, so a
//            finite weight of 1e30 makes a loss that is not. Integers are finite, and so is what
//            has no numbers
std::string first_not_finite(std::span<const Piece> pieces);

// The end of a sentence about a run whose state is not: its last checkpoint, if there is one.
//   folder  of its checkpoints; empty: it has none
std::string told_of_last(const std::filesystem::path& folder);
// The refusal to continue from a checkpoint of such a state, which older versions could write.
//   found  as first_not_finite's
std::string told_of_broken(const std::filesystem::path& folder, std::int64_t step,
                           const std::string& found);

}  // namespace lockstep::checkpoint
