#include "grader/course/patch.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

using Lines = std::vector<std::string>;

struct Hunk {
  std::ptrdiff_t line = 0;  // in the original, from 0
  std::string header;
  Lines before, after;
};

Lines lines_of(const std::string& content) {
  Lines lines;
  std::istringstream in(content);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<Hunk> hunks_of(const std::string& diff) {
  std::vector<Hunk> hunks;
  for (const std::string& line : lines_of(diff)) {
    if (line.rfind("@@ -", 0) == 0) {
      Hunk hunk;
      hunk.line = std::max(1, std::atoi(line.c_str() + 4)) - 1;
      hunk.header = line;
      hunks.push_back(std::move(hunk));
      continue;
    }
    if (hunks.empty() || line.rfind('\\', 0) == 0) continue;
    const char kind = line.empty() ? ' ' : line[0];
    const std::string content = line.empty() ? "" : line.substr(1);
    if (kind != '+') hunks.back().before.push_back(content);
    if (kind != '-') hunks.back().after.push_back(content);
  }
  return hunks;
}

// Where `block` stands in `lines`, nearest to `wanted`; -1 when nowhere.
std::ptrdiff_t place_of(const Lines& lines, const Lines& block, std::ptrdiff_t wanted) {
  std::ptrdiff_t best = -1;
  const auto last =
      static_cast<std::ptrdiff_t>(lines.size()) - static_cast<std::ptrdiff_t>(block.size());
  for (std::ptrdiff_t at = 0; at <= last; ++at) {
    if (!std::equal(block.begin(), block.end(), lines.begin() + at)) continue;
    if (best < 0 || std::abs(at - wanted) < std::abs(best - wanted)) best = at;
  }
  return best;
}

}  // namespace

std::string patched(const std::string& original, const std::string& diff) {
  Lines lines = lines_of(original);
  const auto hunks = hunks_of(diff);
  if (hunks.empty()) throw UsageError("the patch has no hunk (a line that begins with @@ -)");
  std::ptrdiff_t shift = 0;
  for (const Hunk& hunk : hunks) {
    const std::ptrdiff_t at = place_of(lines, hunk.before, hunk.line + shift);
    if (at < 0) {
      throw UsageError(text("the lines that hunk ", hunk.header,
                            " changes are not in the reference any more: renew the patch"));
    }
    const auto first = lines.begin() + at;
    const auto place = lines.erase(first, first + static_cast<std::ptrdiff_t>(hunk.before.size()));
    lines.insert(place, hunk.after.begin(), hunk.after.end());
    shift += static_cast<std::ptrdiff_t>(hunk.after.size()) -
             static_cast<std::ptrdiff_t>(hunk.before.size());
  }
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace lockstep::grader
