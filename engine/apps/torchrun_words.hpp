// Command lines as users of torchrun type them.
#pragma once

#include <string>
#include <vector>

#include "engine/base/options.hpp"

namespace lockstep::apps {

// The command line in our words: --nproc_per_node becomes --ranks, underscores in the names of
// options become dashes, and what says nothing here (--standalone, --rdzv-backend c10d) is left
// out. Only the launcher's own part is read, not the program's.
//   words    as main gets them, without the program's name
//   options  of the program that reads them
//   Throws   UsageError for what has no counterpart here, with what to type instead, and where
//            torchrun would count the ranks itself (auto, gpu, cpu)
std::vector<std::string> in_our_words(const std::vector<std::string>& words,
                                      const Options& options);

// The same of a main's arguments, which begin with the program's name.
class OurWords {
 public:
  OurWords(int argc, const char* const* argv, const Options& options)
      : words_(in_our_words({argv + 1, argv + argc}, options)) {
    pointers_.push_back(argv[0]);
    for (const std::string& word : words_) pointers_.push_back(word.c_str());
    pointers_.push_back(nullptr);
  }
  OurWords(const OurWords&) = delete;
  OurWords& operator=(const OurWords&) = delete;
  int argc() const { return static_cast<int>(pointers_.size()) - 1; }
  const char* const* argv() const { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<const char*> pointers_;
};

}  // namespace lockstep::apps
