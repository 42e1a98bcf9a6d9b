// A program of the engine with parts of the student in the places of their references.
#pragma once

#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

class StudentProgram {
 public:
  //   Throws  Error when the build knows no program of that name
  StudentProgram(const Lab& lab, std::string name);

  // Whether it links the reference of `part`.
  bool has(const Exercise& part) const;

  // Compiles these parts from work/ with the engine's optimisation and links them in.
  //   Returns  the program, <file> in the folder of what is the student's
  //   Throws   UsageError when a part does not compile, with the compiler's words
  std::filesystem::path link(const std::vector<const Exercise*>& parts,
                             const std::string& file) const;

 private:
  const Lab& lab_;
  std::string name_;
  std::string commands_;  // by which the build system makes it
};

}  // namespace lockstep::grader
