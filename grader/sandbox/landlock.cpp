#include "grader/sandbox/landlock.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep::grader {
namespace {

// All rights over files that the first version knew; later versions add a few, and each may be
// named only where the kernel knows it.
constexpr __u64 rights_1 = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
constexpr __u64 reading =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr __u64 of_a_file =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr __u64 refer = 1ULL << 13, truncate_file = 1ULL << 14, ioctl_device = 1ULL << 15;

// The kernel's landlock_ruleset_attr, with fields that older headers lack. A kernel that does not
// know them takes them as long as they are 0.
struct Ruleset {
  __u64 files = 0;
  __u64 tcp = 0;     // version 4
  __u64 scoped = 0;  // version 6
};
constexpr __u64 bind_and_connect = 3, abstract_sockets_and_signals = 3;

std::string failed(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

int landlock_version() {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

std::string restrict_files(const std::vector<std::string>& reads,
                           const std::vector<std::string>& writes, int program) {
  const int version = landlock_version();
  if (version == 0) return failed("this kernel has no Landlock");
  Ruleset all;
  all.files = rights_1 | (version >= 2 ? refer : 0) | (version >= 3 ? truncate_file : 0) |
              (version >= 5 ? ioctl_device : 0);
  all.tcp = version >= 4 ? bind_and_connect : 0;
  all.scoped = version >= 6 ? abstract_sockets_and_signals : 0;
  const int rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0));
  if (rules < 0) return failed("landlock_create_ruleset");
  std::string wrong;
  const auto allow_open = [&](int file, __u64 rights) {
    struct stat about;
    landlock_path_beneath_attr rule{};
    rule.parent_fd = file;
    if (fstat(file, &about) != 0) return failed("fstat");
    rule.allowed_access = S_ISDIR(about.st_mode) ? rights : rights & of_a_file;
    const long added = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    return added == 0 ? std::string() : failed("landlock_add_rule");
  };
  const auto allow = [&](const std::string& path, __u64 rights) {
    const int file = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (file < 0) return failed(path.c_str());
    std::string refused = allow_open(file, rights);
    close(file);
    return refused;
  };
  if (program >= 0) wrong = allow_open(program, reading);
  for (const std::string& path : reads) {
    if (wrong.empty()) wrong = allow(path, reading);
  }
  for (const std::string& path : writes) {
    if (wrong.empty()) wrong = allow(path, all.files);
  }
  if (wrong.empty() && syscall(SYS_landlock_restrict_self, rules, 0) != 0) {
    wrong = failed("landlock_restrict_self");
  }
  close(rules);
  return wrong;
}

}  // namespace lockstep::grader
