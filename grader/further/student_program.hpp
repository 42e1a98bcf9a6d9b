// A program of the engine with other parts in the places of their references: the student's, or one
// that is wrong on purpose.
#pragma once

#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// A part, and the file that is linked instead of its reference.
struct Replacement {
  const Exercise* part;
  std::filesystem::path source;
};

class StudentProgram {
 public:
  //   Throws  Error when the build knows no program of that name
  StudentProgram(const Lab& lab, std::string name);

  // True if it links the reference of `part`.
  bool has(const Exercise& part) const;

  // Compiles these files with the engine's optimisation and links them in.
  //   Returns  the program: <file>, in the folder of what is the student's unless its path is whole
  //   Throws   UsageError when a part does not compile, with the compiler's words
  std::filesystem::path link(const std::vector<Replacement>& parts, const std::string& file) const;

 private:
  const Lab& lab_;
  std::string name_;
  std::string commands_;  // by which the build system makes it
};

}  // namespace lockstep::grader
