// Seconds and bytes as a person reads them. MB is 10^6 bytes, GB 10^9.
#pragma once

#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string>

namespace lockstep {

// Four digits and the unit that suits them: "12.35 µs", "1.5 ms", "2 s".
inline std::string seconds_text(double seconds) {
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

// "400 bytes", "12.35 MB", "80.00 GB".
inline std::string bytes_text(std::int64_t bytes) {
  if (bytes < 10'000) return std::to_string(bytes) + " bytes";
  const bool many = bytes >= 1'000'000'000;
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << static_cast<double>(bytes) / (many ? 1e9 : 1e6)
      << (many ? " GB" : " MB");
  return out.str();
}

}  // namespace lockstep
