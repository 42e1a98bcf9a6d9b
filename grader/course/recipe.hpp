// How one part is compiled and its player linked, as CMake wrote it down when it configured: the
// lab needs no build system between an edit and its verdict.
//
// File build/<preset>/recipes/<part>.recipe, one `key value` a line, in the order of the link's command line:
//   compiler /usr/bin/c++        compile_flag -O1         pch /…/student_pch.hpp
//   link_flag -static            object /…/adapter.o      uses average_gradients
//   library /…/liblockstep_comm.a
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grader {

struct Recipe {
  std::string compiler;
  std::vector<std::string> compile_flags;
  std::filesystem::path pch;  // the header whose .gch lies beside it; empty: none
  std::vector<std::string> link_flags;
  std::vector<std::filesystem::path> objects;    // adapter, then what may_use brings
  std::vector<std::string> uses;                 // parts whose references are among the objects
  std::vector<std::filesystem::path> libraries;  // rooms, higher floors first
};

//   Throws  Error saying that the build is not ready when the file is missing or malformed
Recipe read_recipe(const std::filesystem::path& file);

}  // namespace lockstep::grader
