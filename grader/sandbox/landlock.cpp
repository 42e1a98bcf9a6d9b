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

std::string failed(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

int landlock_version() {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

std::string restrict_files(const std::vector<std::string>& reads,
                           const std::vector<std::string>& writes) {
  const int version = landlock_version();
  if (version == 0) return failed("this kernel has no Landlock");
  landlock_ruleset_attr all{};
  all.handled_access_fs = rights_1 | (version >= 2 ? refer : 0) |
                          (version >= 3 ? truncate_file : 0) | (version >= 5 ? ioctl_device : 0);
  const int rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0));
  if (rules < 0) return failed("landlock_create_ruleset");
  std::string wrong;
  const auto allow = [&](const std::string& path, __u64 rights) {
    struct stat about;
    landlock_path_beneath_attr rule{};
    rule.parent_fd = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0 || fstat(rule.parent_fd, &about) != 0) return failed(path.c_str());
    rule.allowed_access = S_ISDIR(about.st_mode) ? rights : rights & of_a_file;
    const long added = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
    return added == 0 ? std::string() : failed("landlock_add_rule");
  };
  for (const std::string& path : reads) {
    if (wrong.empty()) wrong = allow(path, reading);
  }
  for (const std::string& path : writes) {
    if (wrong.empty()) wrong = allow(path, all.handled_access_fs);
  }
  if (wrong.empty() && syscall(SYS_landlock_restrict_self, rules, 0) != 0) {
    wrong = failed("landlock_restrict_self");
  }
  close(rules);
  return wrong;
}

}  // namespace lockstep::grader
