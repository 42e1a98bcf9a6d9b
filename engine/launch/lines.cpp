// A line is written by one write(), so it stays whole also when the launcher itself is piped.
#include "engine/launch/lines.hpp"

#include <unistd.h>

#include <cerrno>

namespace lockstep::launch {

namespace {

constexpr std::size_t line_bytes_max = 1 << 16;  // a longer one is cut: memory has an end
constexpr std::size_t last_lines_max = 8;

void write_all(int target, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(target, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return;  // nobody reads any more; the run goes on
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void Lines::add(std::string_view part) {
  if (log_ >= 0) write_all(log_, part);
  if (!prefix_) write_all(target_, part);
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
  if (prefix_) write_all(target_, *prefix_ + std::string(line) + "\n");
}

}  // namespace lockstep::launch
