// Which host a process runs on, as a text that is equal for two processes exactly when they can
// share memory and watch each other: the same boot of the same machine, in the same namespaces of
// processes and networks, as the same user.
#pragma once

#include <string>

namespace lockstep::comm {

std::string this_host();

}  // namespace lockstep::comm
