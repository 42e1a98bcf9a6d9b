// The case format of random_k, shared by adapter and exam.
#pragma once

#include "engine/base/random.hpp"
#include "grader/play/lossy_play.hpp"

namespace lockstep::grader {

struct RandomKSettings {
  std::int64_t k = 1;
  std::uint64_t seed = 0;  // of the case; each call has one of its own
  std::string text() const { return lockstep::text("of which ", k, " travel"); }
  bool any_count() const { return false; }  // k belongs to the count
  std::uint64_t seed_of(std::size_t call) const { return random_bits(seed, call); }
};
template <typename Archive>
void fields(Archive& archive, RandomKSettings& settings) {
  archive(settings.k, settings.seed);
}

}  // namespace lockstep::grader
