#include "engine/base/units.hpp"

#include <iomanip>
#include <sstream>

namespace lockstep {

std::string seconds_text(double seconds) {
  std::ostringstream out;
  out << std::setprecision(4);
  if (seconds < 1e-3) {
    out << seconds * 1e6 << " µs";
  } else if (seconds < 1) {
    out << seconds * 1e3 << " ms";
  } else {
    out << seconds << " s";
  }
  return out.str();
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 10'000) return counted(bytes, "byte");
  const bool many = bytes >= 1'000'000'000;
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << static_cast<double>(bytes) / (many ? 1e9 : 1e6)
      << (many ? " GB" : " MB");
  return out.str();
}

std::string counted(std::int64_t count, std::string_view what) {
  // "epoch" ends in the sound of k, and is the lab's one such word.
  const bool hissed = what.ends_with('s') || what.ends_with("sh") ||
                      (what.ends_with("ch") && !what.ends_with("epoch"));
  const std::string_view plural = count == 1 ? "" : hissed ? "es" : "s";
  return std::to_string(count) + " " + std::string(what) + std::string(plural);
}

}  // namespace lockstep
