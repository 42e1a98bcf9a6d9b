// A timeline as one HTML file that needs nothing else: no network, no library, no second file. The
// sources of the page lie in engine/trace/page/ and are built in.
#pragma once

#include <iosfwd>
#include <string>

#include "engine/trace/timeline.hpp"

namespace lockstep::trace {

void write_page(std::ostream& out, const Timeline& timeline);

// Writes `path`: the page for a name that ends in .html, the Trace Event Format for .json.
//   Throws  UsageError for another name, or where nothing can be written
void write_file(const std::string& path, const Timeline& timeline);

// Throws as write_file does for a name that is none, before the run and not after it.
void check_file_name(const std::string& path);

}  // namespace lockstep::trace
