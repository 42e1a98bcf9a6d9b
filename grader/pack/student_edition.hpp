// The students' edition: what students read, and programs and objects in the places of what they
// must not. It works at any path, without CMake or ninja, with the compiler that built it.
//
//   edition           what built it, and the digest of build/release/sums
//   exercises/ …      texts and headers, by the list grader/pack/student.list
//   build/release/    bin, recipes, links (how programs are linked), objects and archives without
//                     debug information, keys (hashes of quiz answers), sums (SHA-256 of these)
//   lessons/NN/broken/NAME.o
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// "debian12-x86_64": what an edition that is made here works on.
std::string system_of_edition();

// The targets that the build makes for the edition.
std::set<std::string> targets_of_edition(const Lab& lab);

// Writes it into the empty `folder`; rounds: of hashed_key.
//   Throws  UsageError when something is not built, and when a reference would be readable
void write_student_edition(const Lab& lab, const std::filesystem::path& folder, int rounds);

}  // namespace lockstep::grader
