// A hand-in's way from source to object, with a search for machine code at each step
// (machine_code.hpp). Each step reads the file that was searched, so no source can show one text to
// the search and another to the compiler.
#pragma once

#include <filesystem>
#include <string>

#include "grader/course/compile/recipe.hpp"
#include "grader/course/compile/student_build.hpp"

namespace lockstep::grader {

class Inspection {
 public:
  // Its files lie beside `object`, and are removed at the end.
  Inspection(const Recipe& recipe, const std::filesystem::path& object, const BuildTool& tool,
             StudentBuild& build);
  ~Inspection();
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // Preprocesses the source and searches the text. Sets the build's cause when it finds some.
  //   shown    the source, as the compiler is given it
  //   headers  where the engine's lie: what the precompiled header holds is read from there
  //   Returns  false if the source cannot be preprocessed; the compiler can say why
  bool look_at(const std::string& shown, const std::filesystem::path& headers);

  // Compiles the text that was searched, searches the assembly, and assembles just this. Sets the
  // build's cause when it finds machine code.
  //   flags    to compile with, besides the recipe's
  //   Returns  what the compiler ended with, or the assembler
  CommandResult compile(const std::string& shown, const std::vector<std::string>& flags);

 private:
  CommandResult run(std::vector<std::string> words,
                    const std::vector<std::filesystem::path>& reads);
  std::filesystem::path beside(const char* extension) const;
  void refuse(const std::string& why);

  const Recipe& recipe_;
  const std::filesystem::path object_;
  const BuildTool& tool_;
  StudentBuild& build_;
  std::string warnings_;  // the preprocessor's
};

}  // namespace lockstep::grader
