// Folders of one run: a log folder that stays, or one for error files that goes with the run.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::launch {

class RunFolder {
 public:
  // With a log_dir: LOG_DIR/<run_id>_<six letters>, kept. Without: a folder for temporary files
  // that the destructor removes. Throws UsageError when it cannot be made.
  RunFolder(const std::string& log_dir, const std::string& run_id);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  bool kept() const { return kept_; }
  const std::filesystem::path& path() const { return path_; }
  // …/attempt_<k>/<local rank>, made by this call.
  std::filesystem::path of_rank(int attempt, int local_rank) const;

 private:
  bool kept_;
  std::filesystem::path path_;
};

}  // namespace lockstep::launch
