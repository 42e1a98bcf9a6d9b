// The parsing that all commands share.
#pragma once

#include <iostream>

#include "engine/base/options.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

inline Arguments parsed(const Options& options, const Words& words) {
  std::vector<const char*> argv{"lab"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return options.parse(static_cast<int>(argv.size()), argv.data());
}

inline Exit print_help(const Options& options) {
  std::cout << options.help();
  return Exit::passed;
}

// The exercise that the command's one word names.
const Exercise& one_exercise(const Lab& lab, const Arguments& arguments);

// The same; without a word the one that the student is at.
//   Throws  UsageError when no exercise is named and all are solved
const Exercise& named_or_at_hand(const Lab& lab, const Arguments& arguments);

}  // namespace lockstep::grader
