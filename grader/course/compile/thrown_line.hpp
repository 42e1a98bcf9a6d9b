// The line of a student's file from which an exception came, by the calls that led to its throw
// (grader/play/thrown_at.hpp). The addresses are a player's word, and so is the line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "grader/course/compile/student_build.hpp"

namespace lockstep::grader {

// "work/06_all_reduce/ring_all_reduce.cpp:14": of the innermost call that lies in `shown`, as
// messages name the file. nullopt if there is none, or if addr2line does not know.
std::optional<std::string> line_of_throw(const std::filesystem::path& player,
                                         const std::string& shown,
                                         std::span<const std::uint64_t> calls,
                                         const BuildTool& tool);

// The same, in what addr2line printed.
std::optional<std::string> first_line_in(const std::string& output, const std::string& shown);

}  // namespace lockstep::grader
