// Hand-ins for a program that looks for copies: JPlag, which compares folders of sources.
//
//   README                               the command to type
//   base/NN_lesson/part.cpp              what every student is given in the regions
//   submissions/STUDENT/NN_lesson/part.cpp
//   earlier/reference/NN_lesson/part.cpp the references, compared as an earlier year's
//
// Each file has only what can be copied (written_parts.hpp).
//   Source  https://github.com/jplag/JPlag, docs/1.-How-to-Use-JPlag.md: submissions are the direct
//           children of a root, and their folders are read to any depth
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/further/submit.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct HandIns {
  std::vector<Member> members;  // of the archive, by path
  std::size_t students = 0, files = 0;
  std::vector<std::string> without;  // students of whom there is no file to compare
};

//   naming  how hand-ins are named (./lab grade --student-from)
//   Throws  UsageError where there is no such folder, Error where the lab cannot read hand-ins
HandIns hand_ins_for_comparison(const Lab& lab, const std::filesystem::path& submissions,
                                const std::string& naming);

}  // namespace lockstep::grader
