// The parsing that all commands share.
#pragma once

#include <algorithm>
#include <iostream>

#include "engine/base/options.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// As main gets them; `words` must outlive it.
inline std::vector<const char*> argv_of(const Words& words) {
  std::vector<const char*> argv{"lab"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return argv;
}

inline Arguments parsed(const Options& options, const Words& words) {
  const auto argv = argv_of(words);
  return options.parse(static_cast<int>(argv.size()), argv.data());
}

// Reads a part of a command line. Options that do not combine are not refused yet.
inline Arguments read_words(const Options& options, const Words& words) {
  const auto argv = argv_of(words);
  return options.read(static_cast<int>(argv.size()), argv.data());
}

// The options that were typed, again, except for these.
inline Words typed_without(const Arguments& arguments, const Words& names) {
  Words words;
  for (const Arguments::Typed& typed : arguments.typed()) {
    if (std::ranges::count(names, typed.name) > 0) continue;
    words.insert(words.end(), typed.words.begin(), typed.words.end());
  }
  return words;
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
