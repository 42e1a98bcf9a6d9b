// The store of ranks that are threads of one process.
#pragma once

#include "engine/comm/store.hpp"

namespace lockstep::comm {

// All threads share the one object. get() waits `timeout_s`.
//   Thread  calls may come from many threads; who waits keeps nobody else from calling
std::unique_ptr<Store> make_memory_store(double timeout_s = 30.0);

}  // namespace lockstep::comm
