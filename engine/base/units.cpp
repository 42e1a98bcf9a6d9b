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
  if (bytes < 10'000) return std::to_string(bytes) + " bytes";
  const bool many = bytes >= 1'000'000'000;
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << static_cast<double>(bytes) / (many ? 1e9 : 1e6)
      << (many ? " GB" : " MB");
  return out.str();
}

}  // namespace lockstep
