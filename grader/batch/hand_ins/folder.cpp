// Files of a folder, through descriptors: what a name stands for is looked at before it is opened,
// and the kernel itself refuses links and ways out of the folder.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/error.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/answer_files.hpp"
#include "grader/batch/hand_ins/hand_in.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t entries_max = 200'000;

struct TooMany {};

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
  // No more room than it needs: a class has thousands of files.
  const auto size = static_cast<std::size_t>(about.st_size);
  Answer answer{Answer::State::handed_in, std::string(size, '\0'), "", ""};
  answer.modified = about.st_mtim.tv_sec;
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

// All that lies below the folder, by paths in it. Nothing is opened and no link followed.
std::vector<Entry> entries_below(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<Entry> entries;
  const std::size_t above = folder.native().size() + (folder.native().ends_with('/') ? 0 : 1);
  fs::recursive_directory_iterator at(folder), end;
  for (; at != end; ++at) {
    if (entries.size() == entries_max) throw TooMany();
    const fs::file_status status = at->symlink_status();
    const bool is_folder = fs::is_directory(status);
    if (is_folder && (is_ignored_name(at->path().filename()) || at.depth() > hand_in_depth_max)) {
      at.disable_recursion_pending();
    }
    const auto kind = is_folder                     ? Entry::Kind::folder
                      : fs::is_symlink(status)      ? Entry::Kind::link
                      : fs::is_regular_file(status) ? Entry::Kind::file
                                                    : Entry::Kind::other;
    entries.push_back({kind, at->path().native().substr(above)});
  }
  return entries;
}

// The archives at the top of a folder, as a learning platform stores them.
std::vector<std::string> archives_in(const std::vector<Entry>& entries) {
  std::vector<std::string> archives;
  for (const Entry& entry : entries) {
    const bool top = entry.path.find('/') == std::string::npos && !is_ignored_name(entry.path);
    if (entry.kind == Entry::Kind::file && top && is_archive_name(entry.path)) {
      archives.push_back(entry.path);
    }
  }
  std::sort(archives.begin(), archives.end());
  return archives;
}

// A folder without a file at its place is looked at again: one archive in it is the hand-in.
void read_archive_inside(const std::filesystem::path& folder, const std::vector<Entry>& entries,
                         const std::vector<const Exercise*>& exercises,
                         const SubmissionLimits& limits, Submission& submission) {
  const std::vector<std::string> archives = archives_in(entries);
  if (archives.size() > 1) {
    submission.cause = "ambiguous";
    submission.reason = sim::printable(text("two archives could be meant, ", archives[0], " and ",
                                            archives[1], ": keep one of them"),
                                       400);
  }
  if (archives.size() != 1) return;
  submission.cause.clear();
  submission.reason.clear();
  read_archive(folder / archives.front(), exercises, limits, submission);
}

}  // namespace

void read_folder(const std::filesystem::path& folder, const std::vector<const Exercise*>& exercises,
                 const SubmissionLimits& limits, Submission& submission) {
  const Handle root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  try {
    if (root.fd < 0) throw Error(std::strerror(errno));
    const std::vector<Entry> entries = entries_below(folder);
    const auto read = [&](std::size_t i) { return read_file(root.fd, entries[i].path, limits); };
    take_answers(entries, exercises, read, submission);
    if (submission.cause == "nothing_found") {
      read_archive_inside(folder, entries, exercises, limits, submission);
    }
  } catch (const TooMany&) {
    submission.cause = "too_many";
    submission.reason = text("the folder holds more than ", entries_max,
                             " files: hand in work/ alone, as ./lab submit packs it");
  } catch (const std::filesystem::filesystem_error& error) {
    submission.cause = "unreadable";
    submission.reason = "the folder cannot be read: " + error.code().message();
  } catch (const Error& error) {
    submission.cause = "unreadable";
    submission.reason = std::string("the folder cannot be read: ") + error.what();
  }
}

}  // namespace lockstep::grader
