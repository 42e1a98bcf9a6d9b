// Files of a folder, through descriptors: what a name stands for is looked at before it is opened,
// and the kernel itself refuses links and ways out of the folder.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/base/error.hpp"
#include "grader/batch/answer_files.hpp"

namespace lockstep::grader {
namespace {

// A descriptor that closes itself.
struct Handle {
  explicit Handle(int owned) : fd(owned) {}
  ~Handle() {
    if (fd >= 0) ::close(fd);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  int fd;
};

Answer refused(std::string cause, std::string reason) {
  return {Answer::State::refused, "", std::move(cause), std::move(reason)};
}

// As a name only: nothing of the file is touched. Below the folder, through no link.
int name_below(int folder, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

Answer read_file(int folder, const std::string& path, const SubmissionLimits& limits) {
  const Handle name(name_below(folder, path));
  if (name.fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (name.fd < 0 && errno == ELOOP) {
    return refused("symbolic_link", path + " is reached through a symbolic link");
  }
  struct stat about;
  if (name.fd < 0 || ::fstat(name.fd, &about) != 0) {
    return refused("unreadable", path + " cannot be read: " + std::strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) return refused("not_a_file", path + " is not a regular file");
  if (std::cmp_greater(about.st_size, limits.file_bytes)) {
    return refused("too_large", text(path, " has ", about.st_size, " bytes; at most ",
                                     limits.file_bytes, " are read"));
  }
  const Handle file(
      ::open(("/proc/self/fd/" + std::to_string(name.fd)).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return refused("unreadable", path + " cannot be read: " + std::strerror(errno));
  Answer answer{Answer::State::handed_in, std::string(limits.file_bytes, '\0'), "", ""};
  std::size_t got = 0;
  ssize_t count = 1;
  while (count > 0 && got < answer.content.size()) {
    count = ::read(file.fd, answer.content.data() + got, answer.content.size() - got);
    if (count > 0) got += static_cast<std::size_t>(count);
  }
  if (count < 0) return refused("unreadable", path + " cannot be read: " + std::strerror(errno));
  answer.content.resize(got);
  return answer;
}

}  // namespace

void read_folder(const std::filesystem::path& folder, const std::vector<const Exercise*>& exercises,
                 const SubmissionLimits& limits, Submission& submission) {
  const Handle root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (root.fd < 0) {
    submission.cause = "unreadable";
    submission.reason = std::string("the folder cannot be read: ") + std::strerror(errno);
    return;
  }
  const bool has_work = Handle(name_below(root.fd, "work")).fd >= 0;
  for (const Exercise* exercise : exercises) {
    const std::string path = (has_work ? "work/" : "") + exercise->file();
    submission.answers[exercise->address()] = read_file(root.fd, path, limits);
  }
}

}  // namespace lockstep::grader
