// The lessons' predictions on the site: a form before the output of each run, which
// docs/site/predict.js makes work, and why after it. Without a script only the output and why are
// there.
#pragma once

#include <string>

#include "grader/course/predictions.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Two lines of HTML: what stands before the output, and what after it. `name` is "06.2".
//   Throws  Error when the output that the lesson shows does not answer the question
std::string prediction_markup(const std::string& name, const PredictedRun& predicted);

// ./lab dev predictions FOLDER: writes FOLDER/06.2.html and so on.
Exit predictions_page_command(const Lab& lab, const Words& words);

}  // namespace lockstep::grader
