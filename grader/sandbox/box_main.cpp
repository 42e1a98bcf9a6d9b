// lab-box: confines a player, then becomes it. Static, because it runs where nothing else is.
//
//   lab-box [--uid N] [--namespaces|--landlock] [--no-filter] [--processes N] -- PLAYER
//
// In this order, each only where asked:
//   --uid N       gives up root: one of a thousand user ids from N on, by the process id
//   --namespaces  becomes bubblewrap: an empty root with nothing in it but PLAYER and this program,
//                 no network, own process ids; the rest happens inside, by the same program
//   --landlock    no file can be opened but PLAYER, for where there are no namespaces
// then limits, the filter of system calls, one byte on fd 4 ("what comes next is the player"),
// exec. fd 3 is the player's line to the judge. A failure is told on stderr and exits 127 without
// the byte.
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "grader/sandbox/landlock.hpp"
#include "grader/sandbox/player_filter.hpp"

namespace {

using namespace lockstep::grader;

constexpr int line_to_host = 4;
constexpr unsigned ids = 1000;
constexpr rlim_t stack_bytes = 16 << 20;

struct Orders {
  bool namespaces = false, landlock = false, filter = true, command = false;
  unsigned uid = 0;  // 0: stays who it is
  std::string processes = "32";
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
    } else if (word == "--read" && more) {
      orders.reads.emplace_back(argv[++i]);
    } else if (word == "--write" && more) {
      orders.writes.emplace_back(argv[++i]);
    } else if (word == "--uid" && more) {
      orders.uid = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
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

// The wish to die with the parent is forgotten when the user changes: it is renewed, and had the
// parent died in between, somebody else would be the parent now.
void become_nobody(unsigned first_uid) {
  const pid_t parent = getppid();
  const unsigned uid = first_uid + static_cast<unsigned>(getpid()) % ids;
  need(setgroups(0, nullptr), "setgroups");
  need(setresgid(first_uid, first_uid, first_uid), "setresgid");
  need(setresuid(uid, uid, uid), "setresuid");
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
  char* environment[] = {nullptr};
  execve("/usr/bin/bwrap", const_cast<char**>(words.data()), environment);
  give_up(std::string("/usr/bin/bwrap cannot be run: ") + std::strerror(errno));
}

void limit(int resource, rlim_t soft, rlim_t hard, const char* what) {
  const rlimit value{soft, hard};
  need(setrlimit(static_cast<__rlimit_resource>(resource), &value), what);
}

[[noreturn]] void become_player(const Orders& orders) {
  const rlim_t processes = std::strtoul(orders.processes.c_str(), nullptr, 10);
  limit(RLIMIT_NPROC, processes, processes, "RLIMIT_NPROC");
  limit(RLIMIT_STACK, stack_bytes / 2, stack_bytes, "RLIMIT_STACK");
  limit(RLIMIT_MEMLOCK, 0, 0, "RLIMIT_MEMLOCK");
  limit(RLIMIT_MSGQUEUE, 0, 0, "RLIMIT_MSGQUEUE");
  limit(RLIMIT_CORE, 0, 0, "RLIMIT_CORE");
  need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)");
  need(fcntl(line_to_host, F_SETFD, FD_CLOEXEC), "fd 4");
  if (orders.landlock) {
    if (const auto wrong = restrict_files({orders.program[0]}, {}); !wrong.empty()) give_up(wrong);
  }
  if (orders.filter) {
    if (const auto wrong = load_player_filter(); !wrong.empty()) give_up("the filter: " + wrong);
  }
  if (write(line_to_host, "!", 1) != 1) give_up("nobody listens on fd 4");
  char* environment[] = {nullptr};
  execve(orders.program[0], orders.program, environment);
  const int reason = errno;
  static_cast<void>(!write(line_to_host, &reason, sizeof reason));
  std::_Exit(127);
}

[[noreturn]] void become_command(const Orders& orders) {
  need(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl(PR_SET_PDEATHSIG)");
  need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)");
  if (const auto wrong = restrict_files(orders.reads, orders.writes); !wrong.empty())
    give_up(wrong);
  clearenv();
  setenv("PATH", "/usr/local/bin:/usr/bin", 1);
  if (!orders.writes.empty()) setenv("TMPDIR", orders.writes.front().c_str(), 1);
  execvp(orders.program[0], orders.program);
  give_up(std::string(orders.program[0]) + " cannot be run: " + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  const Orders orders = read_orders(argc, argv);
  if (!orders.command) die_first();
  if (orders.uid != 0) become_nobody(orders.uid);
  if (orders.namespaces) enter_namespaces(orders);
  if (orders.command) become_command(orders);
  become_player(orders);
}
