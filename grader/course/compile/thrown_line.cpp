#include "grader/course/compile/thrown_line.hpp"

#include <cstdio>
#include <sstream>

#include "engine/base/text.hpp"

namespace lockstep::grader {

std::optional<std::string> first_line_in(const std::string& output, const std::string& shown) {
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(shown + ":");
    if (at == std::string::npos || (at > 0 && line[at - 1] != '/')) continue;
    const std::size_t digits = at + shown.size() + 1;
    const std::size_t end = line.find_first_not_of("0123456789", digits);
    const std::string number = line.substr(digits, end == std::string::npos ? end : end - digits);
    if (!number.empty() && number != "0") return text(shown, ":", number);
  }
  return std::nullopt;
}

std::optional<std::string> line_of_throw(const std::filesystem::path& player,
                                         const std::string& shown,
                                         std::span<const std::uint64_t> calls,
                                         const BuildTool& tool) {
  if (calls.empty()) return std::nullopt;
  // -i: also the functions that were inlined into the one at the address, innermost first.
  std::vector<std::string> argv{"addr2line", "-i", "-e", player.string()};
  for (const std::uint64_t call : calls) {
    char address[2 + 16 + 1];  // a call returns behind itself, so that one byte before is its own
    std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(call - 1));
    argv.emplace_back(address);
  }
  const CommandResult found = tool(argv, {player});
  return found.exit_code == 0 ? first_line_in(found.output, shown) : std::nullopt;
}

}  // namespace lockstep::grader
