#include "engine/checkpoint/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/destination.hpp"

namespace lockstep::checkpoint {
namespace {

// Linux moves 2 GiB less a page at most in one call.
constexpr std::size_t bytes_a_call = std::size_t{1} << 30;

[[noreturn]] void failed(const char* what, const std::filesystem::path& path, int error) {
  throw CheckpointError(text(what, " ", path, " failed: ", std::strerror(error)));
}

}  // namespace

std::filesystem::path NewFile::temporary_of(const std::filesystem::path& target) {
  const std::filesystem::path end = end_of_links(target), file = end.string() + ".tmp";
  std::error_code unseen;
  for (const auto& path : {end, file}) {
    if (!std::filesystem::is_symlink(path, unseen)) continue;
    throw CheckpointError(text(path,
                               path == end ? " is a link that leads back to itself"
                                           : " is a link, and would be written through",
                               "; remove it, or name another file"));
  }
  return file;
}

NewFile::NewFile(std::filesystem::path target)
    : target_(end_of_links(std::move(target))), temporary_(temporary_of(target_)) {
  // A rename would put a file in the place of a device: root's `--export /dev/null` took the null
  // device from the whole machine.
  std::error_code absent;
  const auto there = std::filesystem::status(target_, absent);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    throw CheckpointError(text(target_, " is no regular file, and would be replaced by one"));
  }
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd_ < 0) failed("opening for writing", temporary_, errno);
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void NewFile::fail(const char* what) {
  const int error = errno;
  ::close(std::exchange(fd_, -1));
  ::unlink(temporary_.c_str());
  failed(what, target_, error);
}

void NewFile::write(std::span<const std::byte> bytes) {
  LOCKSTEP_CHECK(fd_ >= 0, "write: ", target_, " was committed or failed; open it again");
  while (!bytes.empty()) {
    const auto count = ::write(fd_, bytes.data(), std::min(bytes.size(), bytes_a_call));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("writing");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void NewFile::commit() {
  LOCKSTEP_CHECK(fd_ >= 0, "commit: ", target_, " was committed or failed; open it again");
  if (::fsync(fd_) != 0) fail("writing to the disk");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("putting in place");
  ::close(std::exchange(fd_, -1));
  sync_folder(target_.has_parent_path() ? target_.parent_path() : ".");
}

OpenFile::OpenFile(std::filesystem::path path, int flags)
    : path_(std::move(path)), fd_(::open(path_.c_str(), flags | O_CLOEXEC, 0666)) {
  if (fd_ < 0) failed("opening for writing", path_, errno);
}

OpenFile::~OpenFile() { ::close(fd_); }

void OpenFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto count = ::pwrite(fd_, bytes.data(), std::min(bytes.size(), bytes_a_call),
                                static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) failed("writing", path_, errno);
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void OpenFile::sync() const {
  if (::fsync(fd_) != 0) failed("writing to the disk", path_, errno);
}

OldFile::OldFile(std::filesystem::path path) : path_(std::move(path)) {
  // Without waiting: a pipe that nobody writes to would never be open.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd_ < 0) failed("opening", path_, errno);
  struct stat status {};
  if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    throw CheckpointError(text(path_, " is no regular file"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

OldFile::~OldFile() { ::close(fd_); }

void OldFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const auto count =
        ::pread(fd_, into.data(), std::min(into.size(), bytes_a_call), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) failed("reading", path_, errno);
    if (count == 0) {
      throw CheckpointError(
          text(path_, " ends at byte ", offset, ", where ", into.size(), " more were expected"));
    }
    offset += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) failed("opening the folder", folder, errno);
  const int rc = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  if (rc != 0) failed("writing to the disk the folder", folder, error);
}

}  // namespace lockstep::checkpoint
