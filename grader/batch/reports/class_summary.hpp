// Sums up a class that was taken in, for a person: the students who handed in nothing, nothing that
// counts, or something that cannot be read. The summary has a few lines, even for hundreds of
// students.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "grader/batch/hand_ins/submission.hpp"

namespace lockstep::grader {

// A line each kind of trouble, with names; the first reasons of each. Empty when there is none.
std::string class_summary(const TakenIn& taken, const Roster& roster);

// A line for each row whose points are others than in earlier grades, for a person to look at.
std::string changes_between(const nlohmann::json& before, const nlohmann::json& now);

// A line naming students of whom nobody says when they handed in.
std::string timeless_hand_ins(const std::vector<std::string>& students);

}  // namespace lockstep::grader
