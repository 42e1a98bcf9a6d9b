// One file, judged: built and played for a code exercise, compared with the key for a quiz.
#pragma once

#include <filesystem>

#include "grader/judge/judge.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct Grade {
  Report report;
  double compile_s = 0, link_s = 0, run_s = 0;
  std::string compiler;  // what it printed: errors, or the warnings of a file that compiled
};

// The options' points are the manifest's.
//   Throws  UsageError when the file is missing, Error when the lab itself is not ready
Grade grade_file(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source,
                 JudgeOptions options, PlayerKind kind = PlayerKind::usual);

// Says whether a code exercise's file is the stub as it was handed out, where a judge might have to
// be built first: the stub is known to be unsolved.
bool is_untouched(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source);

// Says of such a file what the judge would say, without any judge.
Grade grade_untouched(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source,
                      std::uint64_t seed);

// The same for a code exercise that was built already, by whatever means.
//   tool  reads the player's lines, where an exception left the part; without, none is told
Grade grade_build(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source,
                  const StudentBuild& build, JudgeOptions options, const BuildTool& tool = {});

// Notes in work/.progress how the student's file stands.
void note_standing(const Lab& lab, const Exercise& exercise, const Report& report);

// Notes a failure of a file outside work/, so that ./lab hint speaks of it.
void note_tried(const Lab& lab, const Exercise& exercise, const Report& report);

}  // namespace lockstep::grader
