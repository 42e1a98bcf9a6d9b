// The archive that a student hands in: ./lab submit writes it, ./lab grade reads it.
//
// A zip archive. At its root, and nowhere else:
//   NN_lesson/part.cpp, NN_lesson/quiz.toml   the files of work/ that the manifest names, as they
//   are submission.json   {"format": 1, "course": sha256 of exercises/course.toml,
//                      "files": [{"path", "sha256", "state"}]}, by path; "state" is how ./lab list
//                      shows it, for people: a grader judges anew and believes nothing of it
// Nothing in it says who it is from: that is the name of the file, or the place it is handed in at.
// The same work gives the same bytes: members are sorted and have no times.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/lab/list.hpp"

namespace lockstep::grader {

struct Member {
  std::string path, content;
  int mode = 0644;
};

// The members in the order of the archive: submission.json first.
//   Throws  UsageError when work/ has none of the course's files
std::vector<Member> submission_of(const Lab& lab, const std::vector<Row>& rows);

// Writes the archive.
//   Throws  UsageError when the file cannot be written
void write_zip(const std::filesystem::path& file, const std::vector<Member>& members);

}  // namespace lockstep::grader
