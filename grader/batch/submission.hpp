// What students handed in, read once and held in memory: from then on no file of theirs is opened.
//
// A student is an entry of the submissions' folder: a folder, or an archive (zip, tar, tar.gz, …)
// named after the student. In it count only regular files at the places that the manifest names,
// NN_lesson/part.cpp, at the root or below work/. Archives are never unpacked: their members are
// read one after the other.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

struct Answer {
  enum class State : unsigned char { handed_in, missing, refused } state = State::missing;
  std::string content;  // when it was handed in
  std::string cause;    // when it is refused: "symbolic_link", "too_large", …
  std::string reason;   // and the sentence
};

struct Submission {
  std::string student;        // as readable_name() writes it
  std::string cause, reason;  // when nothing of it can be graded: it is refused, or missing
  bool on_roster = true;
  std::map<std::string, Answer> answers;  // by address
};

struct SubmissionLimits {
  std::size_t file_bytes = 1 << 20;
  std::size_t archive_bytes = 32 << 20;   // as it lies there
  std::size_t unpacked_bytes = 64 << 20;  // all members together
  int members = 10'000;
};

// All of them, by name; with a roster also those who handed in nothing.
//   roster   names as the folders or archives are called; empty: there is none
//   Throws   UsageError when there is no such folder
std::vector<Submission> take_in(const std::filesystem::path& folder,
                                const std::vector<const Exercise*>& exercises,
                                const std::vector<std::string>& roster,
                                const SubmissionLimits& limits = {});

// The first column of a CSV file; a first line that says student, id or name is a heading.
std::vector<std::string> read_roster(const std::filesystem::path& file);

// A name of a file, any bytes, as text that is safe in a file name, a table and a terminal;
// different names stay different. What is not plain becomes %XX.
std::string readable_name(const std::string& bytes);

}  // namespace lockstep::grader
