// What the student has solved: work/.progress, one line an exercise, tab-separated:
//   address  hash of the judged file  verdict  points  seconds since 1970
// A file whose hash differs from its line was changed since it was judged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace lockstep::grader {

struct Standing {
  std::uint64_t content_hash = 0;
  std::string verdict;  // "wrong answer"
  int points = 0;
  std::int64_t judged_at = 0;
};

using Progress = std::map<std::string, Standing>;  // by address

// Empty when there is no file yet; lines that cannot be read are left out.
Progress read_progress(const std::filesystem::path& file);
void write_progress(const std::filesystem::path& file, const Progress& progress);

std::uint64_t content_hash_of(const std::filesystem::path& file);

}  // namespace lockstep::grader
