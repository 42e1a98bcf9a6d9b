// A folder for one process's temporary files, gone when the object goes. What a process leaves that
// was killed goes when the next one makes such a folder.
//
// A lock on the folder says that its owner lives: the kernel drops it however a process ends.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

// The system's folder for temporary files: TMPDIR, or /tmp.
//   Throws  UsageError that names the variable and its value when nothing can be written there
std::filesystem::path folder_for_temporaries();

class TemporaryFolder {
 public:
  // lockstep-PURPOSE-XXXXXX in the system's temporary folder. Removes those of dead owners first.
  //   Throws  Error when no folder can be made
  explicit TemporaryFolder(const std::string& purpose);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace lockstep
