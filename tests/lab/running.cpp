#include "tests/lab/running.hpp"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/catch.hpp"

namespace lockstep::test {
namespace {

constexpr int patience_ms = 300'000;

// Without "\x1b[31m" and its like. An unfinished sequence at the end stays.
std::string without_escapes(const std::string& printed) {
  std::string words;
  for (std::size_t at = 0; at < printed.size(); ++at) {
    if (printed[at] != '\x1b') {
      words += printed[at];
      continue;
    }
    at = printed.find_first_of("mKHJhl", at);
    if (at == std::string::npos) break;
  }
  return words;
}

}  // namespace

Running::Running(const std::vector<std::string>& argv, const std::filesystem::path& folder,
                 Seen seen) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int ends[2] = {-1, -1};
  winsize size{30, 100, 0, 0};
  if (seen == Seen::on_a_terminal) {
    REQUIRE(::openpty(&line_, &terminal_, nullptr, nullptr, &size) == 0);
  } else {
    REQUIRE(::pipe(ends) == 0);
    line_ = ends[0];
  }
  child_ = ::fork();
  if (child_ == 0) {
    const int out = seen == Seen::on_a_terminal ? terminal_ : ends[1];
    if (seen == Seen::on_a_terminal) {
      ::setsid();
      ::ioctl(terminal_, TIOCSCTTY, 0);
      ::dup2(terminal_, STDIN_FILENO);
    }
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  if (ends[1] >= 0) ::close(ends[1]);
}

Running::~Running() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  ::close(line_);
  if (terminal_ >= 0) ::close(terminal_);
}

bool Running::read_more() {
  pollfd wait{line_, POLLIN, 0};
  if (::poll(&wait, 1, patience_ms) <= 0) return false;
  char buffer[4096];
  const ssize_t got = ::read(line_, buffer, sizeof buffer);
  if (got <= 0) return false;
  printed_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::string Running::wait_for(const std::string& words) {
  for (;;) {
    const std::string all = without_escapes(printed_);
    const std::size_t found = all.find(words, waited_to_);
    if (found != std::string::npos) {
      const std::string seen = all.substr(waited_to_, found + words.size() - waited_to_);
      waited_to_ = found + words.size();
      return seen;
    }
    if (!read_more()) {
      FAIL("waited for \"" << words
                           << "\" and saw: " << all.substr(std::min(waited_to_, all.size())));
    }
  }
}

void Running::type(const std::string& keys) const {
  REQUIRE(::write(line_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
}

void Running::resize(int rows, int columns) const {
  const winsize size{static_cast<unsigned short>(rows), static_cast<unsigned short>(columns), 0, 0};
  REQUIRE(::ioctl(line_, TIOCSWINSZ, &size) == 0);
}

void Running::send(int signal) const { REQUIRE(::kill(child_, signal) == 0); }

int Running::exit_code() {
  int status = 0;
  REQUIRE(::waitpid(child_, &status, 0) == child_);
  child_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool Running::echoes() const {
  termios settings{};
  REQUIRE(::tcgetattr(terminal_, &settings) == 0);
  return (settings.c_lflag & ECHO) != 0 && (settings.c_lflag & ICANON) != 0;
}

}  // namespace lockstep::test
