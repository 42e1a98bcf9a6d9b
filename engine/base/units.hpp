// Seconds, bytes and counts as a person reads them. MB is 10^6 bytes, GB 10^9.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

// Four digits and the unit that suits them: "12.35 µs", "1.5 ms", "2 s".
std::string seconds_text(double seconds);

// "1 byte", "400 bytes", "12.35 MB", "80.00 GB".
std::string bytes_text(std::int64_t bytes);

// "1 rank", "2 ranks", "3 passes", "4 batches".
std::string counted(std::int64_t count, std::string_view what);

}  // namespace lockstep
