// The pages' style, as CMake embeds it from grader/export/page/.
#pragma once

#include <string_view>

namespace lockstep::grader {

extern const std::string_view book_css;

}  // namespace lockstep::grader
