// Extracts what a student wrote in a file, for a program that compares files: the marked regions,
// and lines outside of them that the stub does not have. A part is given to every student; only the
// rest can be copied.
#pragma once

#include <string>

namespace lockstep::grader {

// As C++ that a parser reads: a region inside a function becomes a function's body, a region at
// namespace scope stays what it is, and other lines stand before them. A file without regions stays
// as it is.
std::string written_part(const std::string& source, const std::string& stub,
                         const std::string& name);

}  // namespace lockstep::grader
