// The submissions of students, read once and held in memory. After that, no file of theirs is
// opened.
//
// A student is an entry of the submissions' folder: a folder, or an archive (zip, tar, tar.gz, …)
// named after the student, or by a pattern (student_name.hpp). Which of its files count is said in
// hand_in.hpp; only regular ones do. Archives are never unpacked: their members are read one after
// the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "grader/batch/hand_ins/readable_name.hpp"
#include "grader/batch/hand_ins/roster.hpp"
#include "grader/course/manifest.hpp"

namespace lockstep::grader {

struct Answer {
  enum class State : unsigned char { handed_in, missing, refused } state = State::missing;
  std::string content;  // when it was handed in
  std::string cause;    // when it was not: "missing", "symbolic_link", "too_large", …
  std::string reason;   // and the sentence
  // When its file, or the archive around it, was last changed here: seconds since 1970.
  std::int64_t modified = 0;
};

struct Submission {
  std::string student;  // as readable_name() writes it
  // When nothing of it can be graded. Nothing to grade: "missing", "empty", "nothing_found";
  // refused: "bad_archive", "too_large", "ambiguous", "twice", …
  std::string cause, reason;
  std::string handed_in;  // when, as the platform writes it; empty where it does not say
  bool on_roster = true;
  std::vector<std::string> about;         // the roster's other cells, one a column
  std::map<std::string, Answer> answers;  // by address
};

// True if the cause says that there is nothing, and not that something was refused.
bool is_nothing(const std::string& cause);

struct SubmissionLimits {
  std::size_t file_bytes = 1 << 20;
  std::size_t archive_bytes = 32 << 20;   // as it lies there
  std::size_t unpacked_bytes = 64 << 20;  // all members together
  int members = 10'000;
};

struct TakenIn {
  std::vector<Submission> submissions;  // by name
  // Entries that stand for no student or not for the one they seem to, for a person to look at.
  std::vector<std::string> hidden;      // their names begin with a dot
  std::vector<std::string> unmatched;   // the pattern does not match: named after the file
  std::vector<std::string> superseded;  // earlier attempts, and files beside a student's hand-in
  LookAlikes alike;                     // hand-ins beside students of the roster
};

// All of them; with a roster also those who handed in nothing.
//   naming   how entries are named (student_name.hpp); empty: after their students
//   only     these students; empty: all
//   Throws   UsageError when there is no such folder, or no such student in it or on the roster
TakenIn take_in(const std::filesystem::path& folder, const std::vector<const Exercise*>& exercises,
                const Roster& roster = {}, const std::string& naming = "",
                const SubmissionLimits& limits = {}, const std::set<std::string>& only = {});

}  // namespace lockstep::grader
