// A line is written by one write(), so it stays whole also when the launcher itself is piped.
#include "engine/launch/lines.hpp"

#include <unistd.h>

#include <cerrno>
#include <iostream>

namespace lockstep::launch {

namespace {

constexpr std::size_t line_bytes_max = 1 << 16;  // a longer one is cut: memory has an end
constexpr std::size_t last_lines_max = 8;

// The error that kept some of it from being written, or 0. The run goes on all the same.
int write_all(int target, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(target, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

// That output was lost, main says at the end (engine/base/program.hpp).
void Lines::print(std::string_view bytes) const {
  const bool lost = write_all(target_, bytes) != 0;
  if (lost && target_ == STDOUT_FILENO) std::cout.setstate(std::ios_base::badbit);
}

void Lines::add(std::string_view part) {
  if (log_ >= 0 && log_error_ == 0) log_error_ = write_all(log_, part);
  if (!prefix_) print(part);
  while (!part.empty()) {
    const auto end = part.find('\n');
    rest_ += part.substr(0, end);
    if (end == std::string_view::npos) {
      if (rest_.size() >= line_bytes_max) finish();
      return;
    }
    put(rest_);
    rest_.clear();
    part.remove_prefix(end + 1);
  }
}

void Lines::finish() {
  if (!rest_.empty()) put(rest_);
  rest_.clear();
}

void Lines::put(std::string_view line) {
  last_.emplace_back(line);
  if (last_.size() > last_lines_max) last_.pop_front();
  if (prefix_) print(*prefix_ + std::string(line) + "\n");
}

}  // namespace lockstep::launch
