#include "engine/launch/folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.hpp"
#include "engine/base/temporary_folder.hpp"

namespace lockstep::launch {

namespace fs = std::filesystem;

namespace {

fs::path make_new(const fs::path& parent, const std::string& start) {
  std::error_code error;
  fs::create_directories(parent, error);
  std::string path = (parent / (start + "_XXXXXX")).string();
  if (!error && mkdtemp(path.data()) != nullptr) return path;
  throw UsageError(text("cannot create a folder in ", parent.string(), ": ",
                        error ? error.message() : std::strerror(errno),
                        "; --log-dir must name a writable folder"));
}

}  // namespace

RunFolder::RunFolder(const std::string& log_dir, const std::string& run_id)
    : kept_(!log_dir.empty()),
      path_(kept_ ? make_new(log_dir, run_id) : make_new(folder_for_temporaries(), "lockstep")) {}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

fs::path RunFolder::of_rank(int attempt, int local_rank) const {
  const fs::path folder = path_ / text("attempt_", attempt) / text(local_rank);
  fs::create_directories(folder);
  return folder;
}

}  // namespace lockstep::launch
