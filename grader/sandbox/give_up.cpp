#include "grader/sandbox/give_up.hpp"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "grader/sandbox/player_filter.hpp"

namespace lockstep::grader {
namespace {

constexpr rlim_t memory_bytes = rlim_t{1} << 30;
constexpr rlim_t processor_s = 10;
constexpr uid_t nobody = 65534;

bool become_nobody() {
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
         ::setresuid(nobody, nobody, nobody) == 0;
}

bool limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

// The same, but not above the limit that it has already: nobody may raise one.
bool limit_at_most(int resource, rlim_t value) {
  rlimit present{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &present) != 0) return false;
  return limit(resource, std::min(present.rlim_max, value));
}

}  // namespace

std::size_t mapped_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::string give_up_everything() {
  const pid_t parent = ::getppid();
  const std::size_t present = mapped_bytes();
  const bool done =
      become_nobody() && ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent &&
      ::prctl(PR_SET_DUMPABLE, 0) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      limit_at_most(RLIMIT_AS, present + memory_bytes) && limit_at_most(RLIMIT_CPU, processor_s) &&
      limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NPROC, 0);
  if (!done) return std::string("giving up rights: ") + std::strerror(errno);
  const std::string wrong = load_reader_filter();
  return wrong.empty() ? "" : "the filter: " + wrong;
}

}  // namespace lockstep::grader
