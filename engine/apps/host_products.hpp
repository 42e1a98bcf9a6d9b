// The products of a program that computes on the host, and with them the instructions of all its
// kernels, as the environment says.
#pragma once

#include "engine/launch/cpu_isa.hpp"
#include "engine/tensor/cpu/products.hpp"

namespace lockstep::apps {

inline kernels::Isa host_isa() { return launch::cpu_isa(launch::process_environment()); }

inline kernels::Products host_products() { return kernels::best_products(host_isa()); }

}  // namespace lockstep::apps
