// What a proof, a trial of references or one of impostors is a function of: a sentence and files.
// Its digest is made of their contents, with paths from the repository's root, so that a clone at
// another place with the same compiler has the same digest. Times, and the order of files, are not
// in it.
//
// What is built counts by its bytes: objects, archives and programs of two clones are the same
// (docs/decisions/0079). A precompiled header counts by the headers that it was made of, since its
// own bytes differ from run to run. So do the recipe's folders: the rest of its text counts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct Trial {
  std::string what;                          // "proof of 06_all_reduce/ring_all_reduce"
  std::vector<std::filesystem::path> files;  // missing ones count as such
};

// `what` is tried of an exercise of code with the answers that it has: the reference and all
// others.
Trial trial_of_answers(const Lab& lab, const Exercise& exercise, const std::string& what);

// Its exam is tried with impostors.
Trial trial_of_impostors(const Lab& lab, const Exercise& exercise);

// 16 digits.
std::string digest_of(const Places& places, const Trial& trial);

std::string hash_of(const std::string& content);

// All regular files below a folder, or none when there is no folder; in the order of their names.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

}  // namespace lockstep::grader
