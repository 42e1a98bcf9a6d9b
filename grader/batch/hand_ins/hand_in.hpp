// Which file of a hand-in counts for which exercise: one rule for folders and archives.
//
//  1. Paths are compared with '/' for the '\' of Windows and without "./"; capitals differ. Names
//     that begin with a dot, __MACOSX, ways through ".." and what lies very deep are ignored.
//  2. The files lie in the shallowest folder named "work" that holds a lesson's folder (two digits
//     and an underscore). Two of them at one depth: the hand-in is refused, with both names.
//  3. Without one, they lie at the root, or, as long as a folder holds no lesson's folder and one
//     folder only, in that one. exercises/ and solutions/ are the course's own: never entered.
//  4. There, the file NN_lesson/part.cpp or NN_lesson/quiz.toml counts. Everything else is ignored.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grader/batch/hand_ins/submission.hpp"

namespace lockstep::grader {

constexpr int hand_in_depth_max = 16;  // folders above a file

// Something that a folder or an archive holds, by the path that it has there.
struct Entry {
  enum class Kind : unsigned char { file, folder, link, other } kind = Kind::file;
  std::string path;
};

// By rule 1: "" when it is ignored.
std::string normal_path(const std::string& path);
bool is_ignored_name(const std::string& name);
bool is_archive_name(const std::string& name);                // by its ending, in any case
std::string without_archive_ending(const std::string& name);  // "amy" of "amy.tar.gz"

// Fills in the answers, or why the hand-in as a whole has none: "ambiguous", "empty",
// "nothing_found", "symbolic_link".
//   read   the content of entries[i], a regular file, or why it is refused
void take_answers(const std::vector<Entry>& entries, const std::vector<const Exercise*>& exercises,
                  const std::function<Answer(std::size_t)>& read, Submission& submission);

}  // namespace lockstep::grader
