// The journal of a grading run, which survives a crash at any moment: one line a record, a checksum
// before it, on the disk before the next one is begun. A line that was cut off by a crash, and
// whatever follows it, is dropped when the journal is opened again. Final grades are a function of
// it alone.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lockstep::grader {

class Journal {
 public:
  // Opens or begins it and locks it for this process.
  //   Throws  UsageError when another process is at it, Error when it cannot be written
  explicit Journal(const std::filesystem::path& file);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // As they were written, those of earlier runs first.
  const std::vector<nlohmann::json>& records() const;
  //   Throws  Error when the record is not on the disk: is it full?
  void append(const nlohmann::json& record);

 private:
  int file_ = -1;
  std::vector<nlohmann::json> records_;
};

// Replaces a file by another content so that at any moment it holds the old or the new one.
void write_whole(const std::filesystem::path& file, const std::string& content);

}  // namespace lockstep::grader
