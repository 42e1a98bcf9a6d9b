// The format that exam and adapter of barrier share: a case is a CollectiveCase whose calls hold a
// token each.
#pragma once

namespace lockstep::grader {

// Asked by every rank before and after every barrier.
struct TurnstileCall {
  static constexpr const char* service = "turnstile";
};
template <typename Archive>
void fields(Archive&, TurnstileCall&) {}

}  // namespace lockstep::grader
