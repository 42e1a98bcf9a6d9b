// The memory of what held: a file for each trial, named by the digest of all that the trial is a
// function of (trial.hpp). It lies in the user's cache, for all clones and builds:
// $LOCKSTEP_MEMORY, or lockstep/held in $XDG_CACHE_HOME or ~/.cache. Its content is
//   lockstep held 1 / the digest / a checksum of digest and rest / the rest, as it was given
//
// 1. A file is believed if it is whole, its trial's and its user's, and no others may write to it.
//    What is not believed is said once, and the trial is made again.
// 2. A file is written under another name and renamed: readers see all of it or nothing.
// 3. Of more than 4,000 files, those used longest ago go until 3,000 are left. No link is followed.
// 4. What fails here is never an error of the trial.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/memory/trial.hpp"

namespace lockstep::grader {

// afresh: nothing is believed, and what is asked for is forgotten until it holds again.
// $LOCKSTEP_AFRESH asks for it as well.
enum class Recall : unsigned char { allowed, afresh };

//   Returns  afresh when `words` hold --afresh, which is taken out
Recall recall_asked_for(std::vector<std::string>& words);

class Memory {
 public:
  //   folder  "" is the user's
  Memory(const Lab& lab, Recall recall, std::filesystem::path folder = {},
         std::size_t files_max = 4000);

  // Returns what remember() was given for a trial with this digest. Notes "remembered WHAT" or
  // "tried WHAT" in the file $LOCKSTEP_TRIALS, of which ./lab test makes its sums.
  std::optional<std::string> recall(const std::string& what, const std::string& digest);

  // Remembers nothing if the trial's digest is another by now.
  void remember(const Trial& trial, const std::string& digest, const std::string& rest);

 private:
  std::optional<std::string> read(const std::string& digest);
  void forget_oldest() const;
  void complain(const std::filesystem::path& what, const std::string& why);

  const Places& places_;
  const Recall recall_;
  std::filesystem::path folder_;
  const std::size_t files_max_;
  std::atomic<bool> complained_ = false;
};

}  // namespace lockstep::grader
