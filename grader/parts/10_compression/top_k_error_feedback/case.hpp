// The case format of top_k_error_feedback, shared by adapter and exam.
#pragma once

#include "grader/play/lossy_play.hpp"

namespace lockstep::grader {

struct TopKSettings {
  double fraction = 0.1;  // of the entries that travel
  std::string text() const { return lockstep::text("of which ", fraction, " travel"); }
  bool any_count() const { return true; }
};
template <typename Archive>
void fields(Archive& archive, TopKSettings& settings) {
  archive(settings.fraction);
}

}  // namespace lockstep::grader
