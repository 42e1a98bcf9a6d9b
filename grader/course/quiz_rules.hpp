// The rule of each type of question: the reason why an answer is wrong, or nothing when it is
// right.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "grader/course/quiz.hpp"

namespace lockstep::grader {

using Reason = std::optional<std::string>;

Reason judge_choice(const nlohmann::json& key, const std::string& answer);
Reason judge_order(const nlohmann::json& key, const std::string& answer);
Reason judge_number(const nlohmann::json& key, const std::string& answer);
Reason judge_formula(const nlohmann::json& key, const std::string& answer, const QuizRules& rules,
                     const QuizReader& reader);

// A key's text; Error naming the question when it is missing.
std::string key_text(const nlohmann::json& key, const char* name);

}  // namespace lockstep::grader
