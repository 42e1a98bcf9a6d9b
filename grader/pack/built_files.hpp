// Copies what the build made to its place in the students' edition: at the same place below
// build/release, without debug information and without the names that no linker needs.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Runs a program and returns what it prints. Throws Error with that when the program fails.
std::string ran(const std::vector<std::string>& words, const std::filesystem::path& folder);

class BuiltFiles {
 public:
  // Copies into folder/build/release.
  BuiltFiles(const Lab& lab, std::filesystem::path folder);

  //   as  its name there
  void program(const std::string& name, const std::string& as);

  // The command that links a program, and all that is linked; for the program of that name there.
  void links(const std::string& name, const std::string& as);

  // The recipe of a part's player without what GPUs need, and all that it names.
  void recipe(const Exercise& part);

  // The object of a part's known mistakes, a tenth of the program, and their list.
  void mistakes(const Exercise& part);

  // A part that is wrong on purpose, compiled as for ./lab train --break.
  void broken_object(const Exercise& part, const std::filesystem::path& source);

  // Strips everything that was copied, and writes the SHA-256 of each file to build/release/sums.
  //   Returns  the SHA-256 of that list
  std::string finish();

 private:
  std::filesystem::path built(const std::filesystem::path& below_build) const;
  void copy(const std::filesystem::path& file);
  void copy(const std::filesystem::path& file, const std::filesystem::path& below);
  void forget_root(const std::set<std::filesystem::path>& files) const;
  void strip(const std::string& how, const std::set<std::filesystem::path>& files) const;

  const Lab& lab_;
  std::filesystem::path folder_, to_;
  std::set<std::filesystem::path> programs_, objects_, others_;  // copies, relative to folder_
};

}  // namespace lockstep::grader
