// Impostors are players that contain no part (grader/impostors/impostor.hpp). An exam that one of
// them passes takes silence, an echo or luck for evidence; so does a check that one of them passes,
// when every check is run by itself. Only a check that the manifest declares trivial, with the
// reason, may hold for them.
#pragma once

#include <array>
#include <string>

#include "grader/judge/judge.hpp"
#include "grader/memory/trial.hpp"

namespace lockstep::grader {

inline constexpr std::array<const char*, 3> impostor_kinds{"silent", "echoing", "random"};

// Builds what is missing to judge impostors with the exams of `exercises`.
void make_impostors_ready(const Lab& lab, const std::vector<const Exercise*>& exercises);

// Judges `player`, an impostor, in place of a part. Nothing confines it: it is the lab's own.
Report judge_impostor(const Lab& lab, const Exercise& exercise, const std::filesystem::path& player,
                      Battery battery, std::uint64_t seed);

// True if the report gives an impostor any points, even for a wasteful pass.
bool is_taken_in(const Report& report);

// The trial of an exercise depends on this, and on its seeds.
Trial trial_of_impostors(const Lab& lab, const Exercise& exercise);

// [NAME…] [--seeds N] [--afresh]
Exit impostors_command(const Lab& lab, const Words& words);

}  // namespace lockstep::grader
