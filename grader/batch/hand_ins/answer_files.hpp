// Reading the files of one submission, which may be anything: links, pipes, bombs.
#pragma once

#include "grader/batch/hand_ins/submission.hpp"

namespace lockstep::grader {

// From a folder. Nothing is opened before it is known to be a regular file below the folder,
// reached without a symbolic link.
void read_folder(const std::filesystem::path& folder, const std::vector<const Exercise*>& exercises,
                 const SubmissionLimits& limits, Submission& submission);

// From an archive, member by member, in a child process: what makes the reader crash or stall is
// refused like everything else that cannot be read.
void read_archive(const std::filesystem::path& file, const std::vector<const Exercise*>& exercises,
                  const SubmissionLimits& limits, Submission& submission);

}  // namespace lockstep::grader
