// A timeline in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
// A rank is a process; its lanes are threads, as many as things overlap; a message is a flow from
// the slice of its sender to that of its receiver.
#pragma once

#include <iosfwd>

#include "engine/trace/timeline.hpp"

namespace lockstep::trace {

//   Source  [TEF] "Trace Event Format"
void write_chrome(std::ostream& out, const Timeline& timeline);

}  // namespace lockstep::trace
