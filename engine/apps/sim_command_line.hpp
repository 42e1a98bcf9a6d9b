// The command line of `sim`, apart from the program, so that lab-tool reads the same line.
#pragma once

#include "engine/base/options.hpp"

namespace lockstep::apps {

Options sim_options();

}  // namespace lockstep::apps
