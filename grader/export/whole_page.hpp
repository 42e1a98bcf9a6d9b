// The frame of all pages: one file each, light or dark as the reader's system is.
#pragma once

#include <string>

namespace lockstep::grader {

// A whole page: no script, no second file, and a policy that lets it fetch nothing.
//   title   not escaped yet
//   body    markup
std::string whole_page(const std::string& title, const std::string& body);

}  // namespace lockstep::grader
