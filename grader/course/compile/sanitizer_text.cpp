#include "grader/course/compile/sanitizer_text.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

// The meanings of AddressSanitizer's names.
std::string meaning_of(const std::string& kind) {
  static const std::map<std::string, std::string> meanings{
      {"heap-buffer-overflow",
       "outside an allocated array: an index beyond the last element, or below the first"},
      {"use-after-poison", "behind the end of a tensor: an index beyond its last element"},
      {"stack-buffer-overflow", "outside a local variable or array"},
      {"global-buffer-overflow", "outside a global variable or array"},
      {"heap-use-after-free", "in freed memory: a span or pointer outlived its target"},
      {"stack-use-after-return", "in a local variable of a function that has returned"},
      {"stack-use-after-scope", "in a local variable whose block has ended"},
      {"stack-overflow",
       "beyond the end of the stack: infinite recursion, or a reference to a variable of a "
       "function that has returned"},
      {"attempting", "by freeing memory twice"},
      {"alloc-dealloc-mismatch",
       "by freeing memory with a function that does not match its allocation"},
      {"SEGV", "at an invalid address: a null pointer, or one that was never set"}};
  const auto found = meanings.find(kind);
  return found == meanings.end() ? "(" + kind + ")" : found->second;
}

std::string between(const std::string& line, const std::string& before, const std::string& after) {
  const std::size_t at = line.find(before);
  if (at == std::string::npos) return {};
  const std::size_t start = at + before.size();
  return line.substr(start, line.find(after, start) - start);
}

// "work/ring.cpp:27" of a line that names the file and a number.
std::string place_in(const std::string& line, const std::string& file) {
  const std::size_t at = line.find(file + ":");
  if (at == std::string::npos) return {};
  std::size_t end = at + file.size() + 1;
  while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
  return end > at + file.size() + 1 ? line.substr(at, end - at) : std::string();
}

}  // namespace

std::optional<SanitizerFinding> sanitizer_finding(const std::string& output,
                                                  const std::string& file) {
  SanitizerFinding finding;
  std::string what, access;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    const bool rule = !line.empty() && line.find_first_not_of('=') == std::string::npos;
    if (rule) continue;
    if (what.empty()) {
      const std::string kind = between(line, "ERROR: AddressSanitizer: ", " ");
      const std::string undefined = between(line, ": runtime error: ", "\n");
      if (!kind.empty()) what = meaning_of(kind);
      if (!undefined.empty()) {
        what = undefined;
        finding.place = place_in(line, file);
      }
      finding.output += line + "\n";
      continue;
    }
    for (const auto& [name, words] :
         {std::pair("READ of size ", "it reads "), std::pair("WRITE of size ", "it writes ")}) {
      const std::string size = between(line, name, " ");
      if (access.empty() && !size.empty())
        access = words + size + (size == "1" ? " byte " : " bytes ");
    }
    const std::string place = place_in(line, file);
    if (finding.place.empty()) finding.place = place;
    const bool tells = !place.empty() || line.find("is located") != std::string::npos ||
                       line.find(" of size ") != std::string::npos ||
                       line.find("allocated by") != std::string::npos;
    if (tells) finding.output += line + "\n";
  }
  if (what.empty()) return std::nullopt;
  finding.message = access + what;
  if (!finding.place.empty()) finding.message += ", at " + finding.place;
  return finding;
}

}  // namespace lockstep::grader
