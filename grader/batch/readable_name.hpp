// Names that strangers chose, as text that is safe wherever a report puts it. Pure functions.
#pragma once

#include <string>

namespace lockstep::grader {

// A name of a file, any bytes, as text that is safe in a file name, a table and a terminal;
// different names stay different. What is not plain becomes %XX.
std::string readable_name(const std::string& bytes);

std::string lower_case(std::string bytes);  // A to Z only

}  // namespace lockstep::grader
