// Which student a hand-in is of, by the name that a learning platform gave it.
//
//   canvas       doejohn_LATE_12345_678_submission-1.zip → doejohn; _LATE_ where it was late, then
//                the user's and the file's number; uploads of the same name are numbered -1, -2, …
//                (instructure/canvas-lms, lib/content_zipper.rb, get_filename)
//   canvas-id    12345 of the same: the column ID of Canvas's gradebook
//   moodle       Ada Lovelace_123456_assignsubmission_file_ → Ada Lovelace
//                (moodle/moodle, mod/assign/classes/downloader.php)
//   moodle-id    123456 of the same: "Participant 123456" of Moodle's grading worksheet
//   gradescope   submission_123456789, whose students are named by submission_metadata.yml beside
//                it: by :sid:, else :email:, else :name:; a group's hand-in is each member's
//   github       ASSIGNMENT-USER, as `gh classroom clone student-repos` stores them in a folder
//                ASSIGNMENT-submissions (github/gh-classroom); elsewhere what all names begin with
//                is the ASSIGNMENT; github:ASSIGNMENT says it
//   otherwise    a regular expression (ECMAScript) found in the name without .zip and the like; its
//                first group is the student, a second one the number of the attempt
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grader {

struct HandInName {
  std::vector<std::string> students;  // one, or a group; empty: the pattern does not match
  std::string upload;                 // attempts at the same upload are told apart by their number
  long attempt = 0;
  std::string handed_in = {};  // when, as the platform writes it
};

// For each name of an entry of `folder`, in their order.
//   pattern   as above; empty: each is named after its student
//   Throws    UsageError when it is no pattern, or takes too long
std::vector<HandInName> names_by(const std::string& pattern, const std::filesystem::path& folder,
                                 const std::vector<std::string>& entries);

// A file that belongs to the platform's export, not to a student.
bool is_of_export(const std::string& pattern, const std::string& entry);

// The entry of Gradescope's submission_metadata.yml for each folder. The reader takes the form that
// Gradescope writes, one key per line, and leaves out any other.
struct GradescopeHandIn {
  std::string folder;
  std::vector<std::string> students;
  std::string created_at;
};
std::vector<GradescopeHandIn> gradescope_hand_ins(const std::string& metadata);

}  // namespace lockstep::grader
