// The store of a rank on the simulated cluster: every call is a request to the core, which serves
// it from sim::StoreService in virtual time.
#pragma once

#include <memory>

#include "engine/comm/store.hpp"
#include "engine/sim/wire/request.hpp"

namespace lockstep::comm {

// `port` must outlive the store. `timeout_s` bounds get(), in virtual time.
std::unique_ptr<Store> make_sim_store(sim::Port& port, double timeout_s = 30.0);

}  // namespace lockstep::comm
