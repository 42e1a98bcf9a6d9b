// Habits of this code base that a compiler does not check. Each looks at one file and returns the
// lines that break it. They read lines, not C++, and rely on clang-format's layout: what stands in
// column 0 is at namespace scope.
#pragma once

#include "tests/house/sources.hpp"

namespace lockstep::house {

Complaints too_long(const Source& source);            // more than 400 lines
Complaints no_opening_comment(const Source& source);  // does not begin with a // sentence
Complaints reads_environment(const Source& source);   // getenv, outside engine/launch
Complaints hidden_state(const Source& source);        // thread_local, statics, mutable globals
Complaints bool_parameters(const Source& source);     // two readings at the call
Complaints unfinished_words(const Source& source);    // marks of work put off
Complaints unframed_main(const Source& source);       // main outside engine/base/program.hpp
// A generator that can be run backwards, where exams draw (grader/judge/keyed.hpp). The list of
// those that may call one says why.
Complaints drawn_backwards(const Source& source);

// ctest takes a name with brackets or semicolons for a list and then runs nothing, silently.
Complaints unlistable_test_names(const Source& source);

}  // namespace lockstep::house
