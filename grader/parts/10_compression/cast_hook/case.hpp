// The case format of cast_hook, shared by adapter and exam.
#pragma once

#include "grader/play/lossy_play.hpp"

namespace lockstep::grader {

struct CastSettings {
  DType half = DType::float16;
  std::string text() const { return lockstep::text("in ", name_of(half)); }
  bool any_count() const { return true; }
};
template <typename Archive>
void fields(Archive& archive, CastSettings& settings) {
  archive(settings.half);
}

}  // namespace lockstep::grader
