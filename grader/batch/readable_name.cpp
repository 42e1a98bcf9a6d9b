#include "grader/batch/readable_name.hpp"

#include <cctype>
#include <cstdio>

#include "engine/sim/wire/printable.hpp"

namespace lockstep::grader {

std::string readable_name(const std::string& bytes) {
  const bool clean = sim::printable(bytes, bytes.size()) == bytes;
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool inner = byte == '-' || byte == '.' || byte == '@' || byte == '+' || byte == ' ';
    const bool plain =
        std::isalnum(byte) != 0 || byte == '_' || (inner && i > 0) || (byte >= 0x80 && clean);
    if (plain) {
      out.push_back(bytes[i]);
    } else {
      char escape[4];
      std::snprintf(escape, sizeof escape, "%%%02X", byte);
      out += escape;
    }
  }
  return out;
}

std::string lower_case(std::string bytes) {
  for (char& c : bytes) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return bytes;
}

}  // namespace lockstep::grader
