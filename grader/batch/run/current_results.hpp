// Which of the journal's results hold. A later result of the same content replaces an earlier one.
// Two kinds of records end those before them:
//
//   {"record":"regrade", "files":[[exercise, sha256]]}     these files are judged again
//   {"record":"versions", "exercises":{address: digest}}   which version of the lab judges them;
//                                                          where it is another, all of the exercise
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::grader {

// By exercise and content; the records must outlive it.
using CurrentResults = std::map<std::pair<std::string, std::string>, const nlohmann::json*>;
CurrentResults current_results(const std::vector<nlohmann::json>& records);

}  // namespace lockstep::grader
