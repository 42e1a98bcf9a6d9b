// From a reference to the stub that students start with: the marked regions taken out.
#pragma once

#include <string>

namespace lockstep::grader {

inline constexpr const char* region_begin = "// >>> your code";
inline constexpr const char* region_end = "// <<< your code";

// A pure function of the reference's text. A region inside a function (indented markers) becomes
// `throw NotImplemented("name");`, preceded by a line that keeps the compiler from warning of
// parameters that are not used yet. A region at namespace scope (markers in column 0), where the
// reference has helpers, becomes empty, but for comments at its very beginning that name steps
// ("// Step 1. …", up to the first line that is no text). The markers stay, so that students see
// where to write.
//   Ensures  the stub includes engine/base/error.hpp and never returns a plausible value
//   Throws   UsageError when there is no region inside a function, or one does not end
std::string stub_of(const std::string& reference, const std::string& name);

}  // namespace lockstep::grader
