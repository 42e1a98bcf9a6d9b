#include "engine/checkpoint/job_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "engine/checkpoint/file_storage.hpp"

namespace lockstep::checkpoint {
namespace {

std::string own_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return text("process ", ::getpid(), " on ", host.data());
}

std::string content_of(int fd) {
  std::array<char, 512> buffer{};
  const auto bytes = ::pread(fd, buffer.data(), buffer.size(), 0);
  return bytes > 0 ? std::string(buffer.data(), static_cast<std::size_t>(bytes)) : "another job";
}

// False where the file was removed, with the lock that was on it, before this one got there.
bool is_still(const std::filesystem::path& file, int fd) {
  struct stat named {
  }, opened{};
  return ::stat(file.c_str(), &named) == 0 && ::fstat(fd, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

constexpr const char* lock_file = ".job";

}  // namespace

std::string job_in(const std::filesystem::path& folder) {
  const int fd = ::open((folder / lock_file).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string content = content_of(fd);
  ::close(fd);
  return content;
}

JobLock::JobLock(const std::filesystem::path& folder) : file_(folder / lock_file) {
  FileStorage(folder).make("");
  while (fd_ < 0) {
    fd_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ < 0) {
      throw CheckpointError(
          text(file_, errno == ELOOP ? text(" is a link, and would be written through: remove it")
                                     : text(" cannot be opened: ", std::strerror(errno))));
    }
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      const std::string holder = content_of(fd_);
      ::close(fd_);
      throw CheckpointError(text(folder.string(), " belongs to ", holder,
                                 ", which is still writing checkpoints to it; wait until it ends, "
                                 "stop it, or pass a different --checkpoint"));
    }
    if (!is_still(file_, fd_)) ::close(std::exchange(fd_, -1));
  }
  if (const std::string there = content_of(fd_);
      ::lseek(fd_, 0, SEEK_END) > 0 && !there.starts_with("process ")) {
    ::close(fd_);
    throw CheckpointError(text(file_,
                               " is no lock of a job: move it, or pass a different "
                               "--checkpoint"));
  }
  const std::string name = own_name();
  if (::ftruncate(fd_, 0) != 0 ||
      ::pwrite(fd_, name.data(), name.size(), 0) != static_cast<ssize_t>(name.size())) {
    const int error = errno;
    ::close(fd_);
    throw CheckpointError(text("writing ", file_, " failed: ", std::strerror(error)));
  }
}

JobLock::~JobLock() {
  ::unlink(file_.c_str());
  ::close(fd_);
}

}  // namespace lockstep::checkpoint
