// How one part is compiled and its player linked, as CMake wrote it down when it configured: the
// lab needs no build system between an edit and its verdict.
//
// File build/<preset>/recipes/<part>.recipe, one `key value` a line, in the order of the link's
// command line:
//   compiler /usr/bin/c++        compile_flag -O1         pch /…/06.hpp
//   plain_header /…/plain/06.hpp: the same text for other flags than the precompiled one's
//   link_flag -static            object /…/adapter.o      uses average_gradients
//   library /…/liblockstep_comm.a
//   simulated_object, shared_object, shared_library, sanitized_object, gpu_object, paper_object,
//   gpu_library, gpu_link_flag: of one kind of player only, the last two of both with GPUs
// In the students' edition, edition_mark stands for the folder that it was unpacked in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grader {

inline constexpr const char* edition_mark = "@lab@";

struct Recipe {
  std::string compiler;
  std::vector<std::string> compile_flags;
  std::filesystem::path pch;           // the header whose .gch lies beside it; empty: none
  std::filesystem::path plain_header;  // the same without
  std::vector<std::string> link_flags;
  std::vector<std::filesystem::path> objects;    // adapter, then what may_use brings
  std::vector<std::string> uses;                 // parts whose references are among the objects
  std::vector<std::filesystem::path> libraries;  // rooms, higher floors first

  // Which world ranks talk in, and what sanitizers are told.
  std::vector<std::filesystem::path> simulated_objects, shared_objects, sanitized_objects;
  std::vector<std::filesystem::path> gpu_objects, paper_objects;
  std::vector<std::filesystem::path> shared_libraries, gpu_libraries;
  std::vector<std::string> gpu_link_flags;
};

// Players of the same file. `usual`: small, quick to start, in the judge's world. `debugged`:
// without optimisation, with lines. `sanitized`: the student's file checks its memory accesses and
// its arithmetic. `shared`: ranks talk through shared memory, unseen by the judge. `gpu`: tensors
// lie on GPUs and travel by NCCL; linked dynamically, for the GPU's libraries are opened. `paper`:
// the same without a GPU.
enum class PlayerKind : unsigned char { usual, debugged, sanitized, shared, gpu, paper };

// The recipe for that kind, with all its objects, libraries and flags in the usual places.
Recipe recipe_for(Recipe recipe, PlayerKind kind);

//   Throws  Error saying that the build is not ready when the file is missing or malformed
Recipe read_recipe(const std::filesystem::path& file);

}  // namespace lockstep::grader
