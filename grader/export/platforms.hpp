// A student's results as three platforms read them. Their documentation, and our schemas of it, are
// in tests/export.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::grader {

// results/results.json of an autograder.
//   Source  https://gradescope-autograders.readthedocs.io/en/latest/specs/
std::string gradescope_json(const nlohmann::json& report);

// The output of an autograder: a line for formatted feedback and, last, the line with the scores.
// The problems of the lab have the names of the exercises; a quiz is NN_lesson/quiz.
//   Source  https://docs.autolabproject.com/lab/ and /features/formatted-feedback/
std::string autolab_output(const nlohmann::json& report);

// results/results.json of an external grader, for the whole hand-in as one question.
//   Source  https://docs.prairielearn.com/externalGrading/
std::string prairielearn_json(const nlohmann::json& report);

}  // namespace lockstep::grader
