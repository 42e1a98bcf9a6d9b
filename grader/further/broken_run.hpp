// Two training runs, one as it should be and one with a part that is wrong on purpose, and what
// tells them apart.
#pragma once

#include "engine/base/options.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Runs ./lab train --break; with 'list' in place of a name, it lists the mistakes.
//   options  of the trainer
//   typed    a command line with --break, read and not yet checked: the mistake brings options of
//            its own, which those that were typed override
//   Throws   UsageError when there is no such mistake, the options do not combine, or the sound run
//            stops
Exit run_broken(const Lab& lab, const Options& options, const Arguments& typed);

}  // namespace lockstep::grader
