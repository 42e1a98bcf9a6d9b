// What exam and adapter of barrier share: a case is a CollectiveCase whose calls hold a token each.
#pragma once

namespace lockstep::grader {

// Asked by every rank before and after every barrier.
inline constexpr const char* turnstile_service = "turnstile";

}  // namespace lockstep::grader
