// The command line of `lockstep-run`, apart from the program, so that lab-tool reads the same line.
#pragma once

#include "engine/base/options.hpp"

namespace lockstep::apps {

Options run_options();

}  // namespace lockstep::apps
