// The record of the student's progress: work/.progress, plain text, one fact a line, fields between
// tabs.
//
//   begun     address  stub  time                 the file was copied from this stub
//   judged    address  content  stub  verdict  points  time  cause  message
//   tried     address  verdict  time  cause  message   of a file outside work/ that failed
//   hint      address  rung  time                 "1", "2", "3", or the failure it was for
//   revealed  address  time                       the reference was shown before it was earned
//
// `content` and `stub` are hashes of the judged file and of the file as it is handed out; `time` is
// in seconds since 1970. A file whose hash differs from its line was changed since it was judged;
// a stub whose hash differs was changed by a newer course.
//
// The files of two machines are merged by putting one behind the other: of the judgements of an
// exercise the newest counts and the newest that passed is kept, everything else adds up. A line
// that cannot be read is left out, and so is one that begins with '#'.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace lockstep::grader {

struct Judged {
  std::uint64_t content_hash = 0, stub_hash = 0;
  std::string verdict;  // "wrong answer"
  int points = 0;
  std::int64_t judged_at = 0;
  std::string cause, message;  // empty when it passed
};

struct Standing {
  std::optional<Judged> last, passed;  // the newest; the newest that passed
  std::optional<Judged> tried;   // the newest failure of another file, if it came after `last`
  std::uint64_t begun_from = 0;  // the stub's hash; 0: not known
  std::int64_t begun_at = 0;
  std::map<std::string, std::int64_t> hints;  // rung, when it was first shown
  std::int64_t revealed_at = 0;               // 0: never

  void judged(const Judged& report);
  void tried_elsewhere(const Judged& report);
};

using Progress = std::map<std::string, Standing>;  // by address

// Empty when there is no file yet.
Progress read_progress(const std::filesystem::path& file);
void write_progress(const std::filesystem::path& file, const Progress& progress);

// Reads, changes, writes; two commands that do so at once wait for each other.
void change_progress(const std::filesystem::path& file,
                     const std::function<void(Progress&)>& change);

std::uint64_t content_hash_of(const std::filesystem::path& file);
std::uint64_t content_hash(const std::string& content);
std::int64_t seconds_now();  // since 1970

}  // namespace lockstep::grader
