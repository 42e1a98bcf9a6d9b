// Names for students that say nothing of them, so that grades can be shown to people who may not
// know whose they are. They are drawn from a secret of their own, which stays with the grades: the
// same in every run, and nobody who knows the class's names and the seed can compute them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::grader {

std::string pseudonym(const std::string& secret, const std::string& student);

// A student's part of the grades, or the report, under the other name: without the roster's cells,
// and the other name wherever the first one stands as a word.
nlohmann::json under_pseudonym(const nlohmann::json& document, const std::string& secret);

}  // namespace lockstep::grader
