// The case format of quantize_int8, shared by adapter and exam.
#pragma once

#include "grader/play/lossy_play.hpp"

namespace lockstep::grader {

struct QuantizeSettings {
  std::int64_t chunk = 256;
  std::string text() const { return lockstep::text("in chunks of ", chunk); }
  bool any_count() const { return true; }
};
template <typename Archive>
void fields(Archive& archive, QuantizeSettings& settings) {
  archive(settings.chunk);
}

}  // namespace lockstep::grader
