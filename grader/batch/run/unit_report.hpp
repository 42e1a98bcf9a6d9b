// The report that leaves the process in which a unit was judged. It quotes strangers: their
// compiler messages, their answers, what they threw and printed. This is the one place where all of
// it is made fit to be read by people, terminals and programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace lockstep::grader {

// Without escapes, marks of direction and the names of folders that exist for one run alone; at
// most `bytes_max` long, and saying so where more is left out.
std::string fit_to_print(const std::string& text, std::size_t bytes_max = 16 << 10);

// Every text in it fit to print, and all of it together at most a mebibyte.
nlohmann::json report_fit_to_print(const nlohmann::json& report);

// The result that a worker answered; nothing when it is not one.
std::optional<nlohmann::json> result_in(const std::string& answer);

}  // namespace lockstep::grader
