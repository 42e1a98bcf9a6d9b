#include "engine/base/temporary_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// The locked folder, or -1 and errno when another process has the lock, or it is no folder of ours.
int locked(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return -1;
  struct stat about {};
  if (::fstat(file, &about) == 0 && about.st_uid == ::geteuid() &&
      ::flock(file, LOCK_EX | LOCK_NB) == 0) {
    return file;
  }
  const int why = errno;
  ::close(file);
  errno = why;
  return -1;
}

void remove_abandoned(const fs::path& temporary, const std::string& prefix) {
  std::error_code ignored;  // others tidy up as well
  for (fs::directory_iterator at(temporary, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (!at->path().filename().string().starts_with(prefix)) continue;
    const int lock = locked(at->path());
    if (lock < 0) continue;
    std::error_code in_vain;
    fs::remove_all(at->path(), in_vain);
    ::close(lock);
  }
}

// The variable of those that temp_directory_path() reads, with its value.
std::string told_of_variable() {
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    if (const char* value = std::getenv(name)) return text(name, " is \"", value, "\"");
  }
  return "/tmp is the folder for temporary files";
}

}  // namespace

fs::path folder_for_temporaries() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (!error && ::access(folder.c_str(), W_OK | X_OK) == 0) return folder;
  const std::string why = error ? error.message() : std::strerror(errno);
  throw UsageError(text(told_of_variable(), ", where no temporary file can be made (", why,
                        "); name a folder that is there, as in TMPDIR=/tmp ./lab …, or make it"));
}

TemporaryFolder::TemporaryFolder(const std::string& purpose) {
  const fs::path temporary = folder_for_temporaries();
  const std::string prefix = "lockstep-" + purpose + "-";
  remove_abandoned(temporary, prefix);
  // Between making and locking, another process may take the folder for abandoned; then again. A
  // file system without such locks keeps what is abandoned.
  do {
    if (lock_ >= 0) ::close(lock_);
    std::string name = (temporary / (prefix + "XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(text("no temporary folder can be made as ", name, ": ", std::strerror(errno)));
    }
    path_ = name;
    lock_ = locked(path_);
  } while (lock_ < 0 ? errno == EWOULDBLOCK || errno == ENOENT : !fs::exists(path_));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace lockstep
