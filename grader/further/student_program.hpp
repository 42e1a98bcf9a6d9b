// A program of the engine with other parts in the places of their references: the student's, or one
// that is wrong on purpose.
#pragma once

#include <string>
#include <vector>

#include "grader/further/kept_objects.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

class StudentProgram {
 public:
  //   Throws  Error when the build knows no program of that name
  StudentProgram(const Lab& lab, std::string name);

  // True if it links the reference of `part`.
  bool has(const Exercise& part) const;

  // Links in the objects of these files (kept_objects.hpp). Does nothing when the same objects were
  // linked there last, and nothing else that the program is made of has changed since.
  //   Returns  the program: <file>, in the folder of what is the student's unless its path is whole
  //   Throws   UsageError when a part does not compile, with the compiler's words
  std::filesystem::path link(const std::vector<Replacement>& parts, const std::string& file) const;

 private:
  const Lab& lab_;
  std::string name_;
  std::string commands_;  // by which the build system makes it
};

}  // namespace lockstep::grader
