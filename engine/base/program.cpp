#include "engine/base/program.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace lockstep {
namespace {

// The lowest free number is what open() gives, so each is taken in turn.
void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    const int nothing = ::open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    if (nothing >= 0 && nothing != stream) ::dup2(nothing, stream);
  }
}

// std::cerr writes by itself after each <<, which breaks a line into several writes.
void write_errors_by_the_line() {
  constexpr std::size_t line_bytes_max = 1 << 16;
  if (__flbf(stderr) != 0) return;                                       // done before
  char* const buffer = static_cast<char*>(std::malloc(line_bytes_max));  // lives as long as stderr
  if (buffer == nullptr || std::setvbuf(stderr, buffer, _IOLBF, line_bytes_max) != 0) return;
  std::cerr.unsetf(std::ios_base::unitbuf);
}

int run_guarded(const Teller& tell, const std::function<int()>& run) {
  try {
    return in_our_words(run);
  } catch (const UsageError& error) {
    return tell(Fault::usage, error.what());
  } catch (const Lacking& error) {
    return tell(Fault::lacking, error.what());
  } catch (const std::exception& error) {
    return tell(Fault::other, error.what());
  }
}

}  // namespace

std::string why_output_is_lost() {
  errno = 0;
  std::cout.flush();
  bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || std::cout.fail();
  if (!lost) {  // a file system may tell of a failed write as late as at the close
    const int copy = ::dup(STDOUT_FILENO);
    lost = copy >= 0 && ::close(copy) != 0;
  }
  if (!lost) return "";
  return errno != 0 ? std::strerror(errno) : "an earlier write failed";
}

int run_main(const Teller& tell, const std::function<int()>& run) {
  open_closed_streams();
  write_errors_by_the_line();
  int code = run_guarded(tell, run);
  const std::string why = why_output_is_lost();
  if (!why.empty()) {
    code = tell(Fault::lacking, text("standard output did not take all that was printed (", why,
                                     "), so what you have of it is not whole; free some space "
                                     "there or print elsewhere, and type the same again"));
  }
  std::cerr.flush();
  return code;
}

}  // namespace lockstep
