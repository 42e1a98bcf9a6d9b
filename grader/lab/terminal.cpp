#include "grader/lab/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

// Another screen, whose lines are cut at the right edge and not broken; and back.
constexpr const char* enter_screen = "\x1b[?1049h\x1b[?7l";
constexpr const char* leave_screen = "\x1b[?7h\x1b[?1049l";

void write_all(const std::string& words) {
  for (std::size_t at = 0; at < words.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, words.data() + at, words.size() - at);
    if (count < 0 && errno != EINTR && errno != EAGAIN) return;  // the terminal is gone
    if (count > 0) at += static_cast<std::size_t>(count);
  }
}

}  // namespace

Signals::Signals() : Signals({SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT}) {}

Signals::Signals(std::initializer_list<int> heard) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : heard) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) throw Error(text("cannot create a signalfd: ", strerror(errno)));
}

Signals::~Signals() {
  ::close(fd_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::next() {
  signalfd_siginfo about{};
  const bool got = ::read(fd_, &about, sizeof about) == sizeof about;
  return got ? static_cast<int>(about.ssi_signo) : 0;
}

void Signals::restore_in_child() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

bool Terminal::there() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

ScreenSize Terminal::size() {
  winsize size{};
  ScreenSize screen;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen = {size.ws_row, size.ws_col};
  }
  return screen;
}

Terminal::Terminal() {
  if (::tcgetattr(STDIN_FILENO, &before_) != 0) {
    throw Error(text("standard input is not a terminal: ", strerror(errno)));
  }
  enter();
}

Terminal::~Terminal() { leave(); }

void Terminal::enter() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  write_all(enter_screen);
  entered_ = true;
}

void Terminal::leave() {
  if (!entered_) return;
  write_all(leave_screen);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  entered_ = false;
}

std::optional<std::string> Terminal::keys() {
  char buffer[256];
  const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
  if (got < 0)
    return errno == EINTR || errno == EAGAIN ? std::optional<std::string>("") : std::nullopt;
  const std::string typed(buffer, static_cast<std::size_t>(got));
  std::string keys;
  for (std::size_t at = 0; at < typed.size(); ++at) {
    if (typed[at] != '\x1b') {
      keys += typed[at];
      continue;
    }
    // "\x1b[A", or "\x1bOA" where a program before had asked for that.
    const std::size_t end =
        typed.find_first_of("ABCDEFGHMPQRSZ~abcdefghijklmnopqrstuvwxyz", at + 2);
    if (end == std::string::npos) break;
    if (typed[end] == 'A') keys += 'k';
    if (typed[end] == 'B') keys += 'j';
    at = end;
  }
  return keys;
}

void Terminal::show(const std::string& frame) { write_all(frame); }

}  // namespace lockstep::grader
