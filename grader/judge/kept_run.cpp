#include "grader/judge/kept_run.hpp"

#include <tuple>
#include <utility>

namespace lockstep::grader {

trace::Timeline* KeptRun::next(const std::string& title) {
  end();
  if (kept_ == nullptr) return nullptr;
  last_ = {};
  last_.title = title;
  has_last_ = true;
  return &last_;
}

void KeptRun::failed(trace::Finding finding) {
  if (!has_last_) return;
  if (last_.finding) finding.waiting = std::move(last_.finding->waiting);
  last_.finding = std::move(finding);
  *kept_ = std::exchange(last_, {});
  has_last_ = false;
  has_failed_ = true;
}

void KeptRun::end() {
  const auto size = [](const trace::Timeline& run) {
    return std::tuple(run.messages.size(), run.spans.size(), run.ranks);
  };
  if (has_last_ && !has_failed_ && size(last_) >= size(*kept_)) {
    *kept_ = std::exchange(last_, {});
  }
  has_last_ = false;
}

}  // namespace lockstep::grader
