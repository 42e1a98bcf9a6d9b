// Notices that a file was saved: by inotify on its folder, since many editors write a new file and
// rename it over the old one, and by its content, since a save that changes nothing is none.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace lockstep::grader {

class SaveWatch {
 public:
  explicit SaveWatch(std::filesystem::path file);
  ~SaveWatch();
  SaveWatch(const SaveWatch&) = delete;
  SaveWatch& operator=(const SaveWatch&) = delete;

  // Readable when something happened in the folder; -1 where there is no inotify.
  int fd() const { return inotify_; }

  // Takes what fd() has to read. True when it was about the file.
  bool stirred();

  // True if the content differs from that of the last call; false while the file is missing. Where
  // a file system tells nothing (a network's, another system's), calling it now and then is enough.
  bool changed();

  // When the file was written, as the file system says.
  std::chrono::system_clock::time_point written_at() const;

 private:
  std::filesystem::path file_;
  int inotify_ = -1;
  std::string content_;
};

}  // namespace lockstep::grader
