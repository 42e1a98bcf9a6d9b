// The page's sources, as CMake embeds them from engine/trace/page/.
#pragma once

#include <string_view>

namespace lockstep::trace {

extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view page_js;  // all scripts, one after the other

}  // namespace lockstep::trace
