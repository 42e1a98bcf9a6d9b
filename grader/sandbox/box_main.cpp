// lab-box: confines a player, then becomes it. Static, because it runs where nothing else is.
//
//   lab-box [--uid N [--ids M]] [--namespaces | --root DIR --landlock] [--no-filter]
//           [--processes N] [--mark NAME=VALUE] -- PLAYER
//   lab-box [--uid N] [--reach] --command [--no-filter] [--mark NAME=VALUE] [--read PATH]…
//           [--write PATH]… -- COMMAND…
//
// In this order, each only where asked:
//   --uid N       gives up root: one of a thousand (or M) user ids from N on, which nobody has
//   --namespaces  becomes bubblewrap: an empty root with nothing in it but PLAYER and this program,
//                 no network, own process ids; the rest happens inside, by the same program
//   --root DIR    an empty folder is all that there is; PLAYER is open already
//   --landlock    no file can be opened but PLAYER, for where there are no namespaces
// then limits, the filter of system calls, one byte on fd 4 ("what comes next is the player"),
// exec. fd 3 is the player's line to the judge. A failure is told on stderr and exits 127 without
// the byte.
//
// A command reads a stranger's source: it opens only what it may read and write, by Landlock, and
// has the compiler's filter. With --uid the folders it may write become its own; with --reach it
// may pass folders that are closed to its user, on the way to what it may read.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "grader/sandbox/landlock.hpp"
#include "grader/sandbox/player_filter.hpp"

namespace {

using namespace lockstep::grader;

constexpr int line_to_host = 4;
constexpr rlim_t stack_bytes = 16 << 20;
constexpr const char* players_name = "/player";  // the only name it learns
constexpr rlim_t command_processes = 512;        // and threads: a linker has one for each processor

struct Orders {
  bool namespaces = false, landlock = false, filter = true, command = false, reach = false;
  unsigned uid = 0;  // 0: stays who it is
  unsigned ids = 1000;
  const char* root = nullptr;
  std::string processes = "32";
  // Put into the environment of bubblewrap or of the command, so that their leftovers can be found.
  // Bubblewrap leaves a process behind if it is killed while that process still waits for it.
  char* mark = nullptr;
  std::vector<std::string> reads, writes;
  char** program = nullptr;  // and its words
};

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "lab-box: %s\n", what.c_str());
  std::_Exit(127);
}

void need(int result, const char* what) {
  if (result < 0) give_up(std::string(what) + " failed: " + std::strerror(errno));
}

Orders read_orders(int argc, char** argv) {
  Orders orders;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--" && more) {
      orders.program = argv + i + 1;
      return orders;
    }
    if (word == "--namespaces") {
      orders.namespaces = true;
    } else if (word == "--landlock") {
      orders.landlock = true;
    } else if (word == "--no-filter") {
      orders.filter = false;
    } else if (word == "--command") {
      orders.command = true;
    } else if (word == "--reach") {
      orders.reach = true;
    } else if (word == "--root" && more) {
      orders.root = argv[++i];
    } else if (word == "--read" && more) {
      orders.reads.emplace_back(argv[++i]);
    } else if (word == "--write" && more) {
      orders.writes.emplace_back(argv[++i]);
    } else if (word == "--uid" && more) {
      orders.uid = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (word == "--ids" && more) {
      orders.ids = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (word == "--mark" && more) {
      orders.mark = argv[++i];
    } else if (word == "--processes" && more) {
      orders.processes = argv[++i];
    } else {
      give_up("unknown word " + word);
    }
  }
  give_up("no program to become");
}

// When the machine runs out of memory, the kernel takes a player before it takes who judges it.
// Inside an empty root there is no /proc, and it was said outside.
void die_first() {
  const int to = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (to < 0) return;
  static_cast<void>(!write(to, "1000", 4));
  close(to);
}

void limit(int resource, rlim_t soft, rlim_t hard, const char* what) {
  const rlimit value{soft, hard};
  need(setrlimit(static_cast<__rlimit_resource>(resource), &value), what);
}

// The folder and all in it, links themselves and not what they lead to; closed to other users.
void own(const std::string& folder, unsigned uid) {
  namespace fs = std::filesystem;
  const auto give = [&](const fs::path& path) {
    need(fchownat(AT_FDCWD, path.c_str(), uid, uid, AT_SYMLINK_NOFOLLOW), path.c_str());
  };
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed)) give(entry.path());
  if (failed) give_up(folder + ": " + failed.message());
  give(folder);
  need(chmod(folder.c_str(), 0700), folder.c_str());
}

// The users who run something. The dead that nobody has buried are left out: in a container without
// an init they stay for ever.
std::set<unsigned> users_alive() {
  std::set<unsigned> users;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    std::ifstream status(entry.path() / "status");
    bool dead = false;
    for (std::string word; status >> word && word != "Uid:";) {
      if (word == "State:" && status >> word) dead = word == "Z" || word == "X";
    }
    unsigned uid = 0;
    if (status >> uid && !dead) users.insert(uid);
  }
  return users;
}

// The first user from --uid on who runs nothing. It is taken before another of these programs,
// which waits for the lock, looks, so that no two share one.
unsigned free_uid(const Orders& orders) {
  const auto start = static_cast<unsigned>(getpid());
  const auto candidate = [&](unsigned i) { return orders.uid + (start + i) % orders.ids; };
  for (unsigned i = 0; i < orders.ids; ++i) {
    errno = 0;
    if (getpriority(PRIO_USER, candidate(i)) == -1 && errno == ESRCH) return candidate(i);
  }
  const std::set<unsigned> alive = users_alive();
  for (unsigned i = 0; i < orders.ids; ++i) {
    if (!alive.contains(candidate(i))) return candidate(i);
  }
  give_up("all user ids from " + std::to_string(orders.uid) + " on are taken");
}

// Keeps one of root's rights over a change of user: that to pass closed folders and to read.
void keep_reach() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __u32 reach = 1U << CAP_DAC_READ_SEARCH;
  const __user_cap_data_struct data[2] = {{reach, reach, reach}, {0, 0, 0}};
  need(static_cast<int>(syscall(SYS_capset, &header, data)), "capset");
  need(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0), "ambient rights");
}

// The wish to die with the parent is forgotten when the user changes: it is renewed, and had the
// parent died in between, somebody else would be the parent now.
void become_nobody(const Orders& orders, unsigned uid) {
  const pid_t parent = getppid();
  if (orders.command) {
    struct stat about;
    for (const std::string& path : orders.writes) {
      if (stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) own(path, uid);
    }
  }
  if (orders.reach) need(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "prctl(PR_SET_KEEPCAPS)");
  need(setgroups(0, nullptr), "setgroups");
  need(setresgid(uid, uid, uid), "setresgid");
  need(setresuid(uid, uid, uid), "setresuid");
  if (orders.reach) keep_reach();
  need(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl(PR_SET_PDEATHSIG)");
  if (getppid() != parent) std::_Exit(127);
}

// bubblewrap's options go through a pipe: command lines are for all to read.
int piped(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all.append(word).push_back('\0');
  int ends[2];
  need(pipe(ends), "pipe");
  if (write(ends[1], all.data(), all.size()) != static_cast<ssize_t>(all.size())) {
    give_up("bubblewrap's options are too long");
  }
  close(ends[1]);
  return ends[0];
}

[[noreturn]] void enter_namespaces(const Orders& orders) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  need(static_cast<int>(length), "reading /proc/self/exe");
  self[length] = '\0';
  const std::string options = std::to_string(
      piped({"--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent",
             "--new-session", "--cap-drop", "ALL", "--clearenv", "--ro-bind", self, "/box",
             "--ro-bind", orders.program[0], "/player", "--remount-ro", "/", "--chdir", "/"}));
  std::vector<const char*> words{"bwrap", "--args",      options.c_str(),         "--",
                                 "/box",  "--processes", orders.processes.c_str()};
  if (!orders.filter) words.push_back("--no-filter");
  words.insert(words.end(), {"--", "/player", nullptr});
  char* environment[] = {orders.mark, nullptr};
  execve("/usr/bin/bwrap", const_cast<char**>(words.data()), environment);
  give_up(std::string("/usr/bin/bwrap cannot be run: ") + std::strerror(errno));
}

[[noreturn]] void become_player(const Orders& orders, int program) {
  const rlim_t processes = std::strtoul(orders.processes.c_str(), nullptr, 10);
  limit(RLIMIT_NPROC, processes, processes, "RLIMIT_NPROC");
  limit(RLIMIT_STACK, stack_bytes / 2, stack_bytes, "RLIMIT_STACK");
  limit(RLIMIT_MEMLOCK, 0, 0, "RLIMIT_MEMLOCK");
  limit(RLIMIT_MSGQUEUE, 0, 0, "RLIMIT_MSGQUEUE");
  limit(RLIMIT_CORE, 0, 0, "RLIMIT_CORE");
  need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)");
  need(fcntl(line_to_host, F_SETFD, FD_CLOEXEC), "fd 4");
  if (orders.landlock) {
    if (const auto wrong = restrict_files({}, {}, program); !wrong.empty()) give_up(wrong);
  }
  if (orders.filter) {
    const std::string wrong = load_player_filter(program);
    if (!wrong.empty()) give_up("the filter: " + wrong);
  }
  if (write(line_to_host, "!", 1) != 1) give_up("nobody listens on fd 4");
  char* environment[] = {nullptr};
  orders.program[0] = const_cast<char*>(players_name);
  execveat(program, "", orders.program, environment, AT_EMPTY_PATH);
  const int reason = errno;
  static_cast<void>(!write(line_to_host, &reason, sizeof reason));
  std::_Exit(127);
}

[[noreturn]] void become_command(const Orders& orders) {
  need(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl(PR_SET_PDEATHSIG)");
  need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)");
  if (orders.uid != 0) {
    limit(RLIMIT_NPROC, command_processes, command_processes, "RLIMIT_NPROC");
  }
  if (const auto wrong = restrict_files(orders.reads, orders.writes); !wrong.empty())
    give_up(wrong);
  if (orders.filter) {
    if (const auto wrong = load_compiler_filter(); !wrong.empty()) give_up("the filter: " + wrong);
  }
  clearenv();
  setenv("PATH", "/usr/local/bin:/usr/bin", 1);
  if (orders.mark != nullptr) putenv(orders.mark);
  if (!orders.writes.empty()) setenv("TMPDIR", orders.writes.front().c_str(), 1);
  execvp(orders.program[0], orders.program);
  give_up(std::string(orders.program[0]) + " cannot be run: " + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  const Orders orders = read_orders(argc, argv);
  if (!orders.command) die_first();
  int program = -1;
  if (!orders.namespaces && !orders.command) {
    program = open(orders.program[0], O_PATH | O_CLOEXEC);
    need(program, orders.program[0]);
  }
  int lock = -1;
  unsigned uid = 0;
  if (orders.uid != 0) {
    lock = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    need(lock, "opening /proc/self/exe");
    need(flock(lock, LOCK_EX), "flock");
    uid = free_uid(orders);
  }
  if (orders.root != nullptr) {
    need(chroot(orders.root), "chroot");
    need(chdir("/"), "chdir");
  }
  if (uid != 0) become_nobody(orders, uid);
  close(lock);
  if (orders.namespaces) enter_namespaces(orders);
  if (orders.command) become_command(orders);
  become_player(orders, program);
}
