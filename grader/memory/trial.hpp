// A proof, or a trial under many seeds, is a function of a sentence and files. Its digest is made
// of their contents, with paths from the repository's root, so that a clone elsewhere with the same
// compiler has the same digest. Times and the order of files are not in it.
//
// What is built counts by its bytes: objects, archives and programs of two clones are the same
// (docs/decisions/0079). A precompiled header counts by the headers that it was made of, and a
// recipe by its text without the folders that its paths begin with.
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

// `what` is tried of an exercise of code with the answers that it has: stub, reference and others.
Trial trial_of_answers(const Lab& lab, const Exercise& exercise, const std::string& what);

// 16 digits. The hashes of files that stay as they are, by inode and times, are kept in hashes.txt
// of the build.
std::string digest_of(const Places& places, const Trial& trial);

std::string hash_of(const std::string& content);

// All regular files below a folder in the order of their names; none where there is no folder.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

}  // namespace lockstep::grader
