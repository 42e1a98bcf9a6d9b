// A host that touches device memory, or pinned memory that a copy still uses, gets a SIGSEGV: the
// handler says what was touched and by which function. Pinned memory may then be touched; device
// memory may not, and the program dies as it would have, after the findings are printed.
#pragma once

namespace lockstep::paper {

// Installs the handler, or does nothing where it is the process's. Whoever had one before is asked
// for all that is not ours.
void catch_host_touches();

}  // namespace lockstep::paper
