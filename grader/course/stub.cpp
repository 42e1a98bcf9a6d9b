#include "grader/course/stub.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

std::vector<std::string> lines_of(const std::string& source) {
  std::vector<std::string> lines;
  std::istringstream in(source);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string_view without_indent(std::string_view line) {
  const std::size_t start = line.find_first_not_of(' ');
  return start == std::string_view::npos ? std::string_view() : line.substr(start);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The last identifier of "const data::Batch& mine" or of "Where where = Where::current()".
std::string name_of_parameter(std::string_view parameter) {
  parameter = parameter.substr(0, parameter.find('='));
  std::size_t end = parameter.size();
  while (end > 0 && !is_word(parameter[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_word(parameter[begin - 1])) --begin;
  return std::string(parameter.substr(begin, end - begin));
}

// Names of the parameters of the function whose body `before` ends in: the last list in
// parentheses that starts on an unindented line.
std::vector<std::string> parameters_of(const std::vector<std::string>& before) {
  std::size_t first = before.size();
  while (first > 0) {
    const std::string& line = before[first - 1];
    const bool code = !line.empty() && line[0] != ' ' && line[0] != '/' && line[0] != '}';
    if (code && line.find('(') != std::string::npos) break;
    --first;
  }
  if (first == 0) return {};
  std::string signature;
  for (std::size_t i = first - 1; i < before.size(); ++i) signature += before[i] + " ";

  std::vector<std::string> names;
  std::string parameter;
  int depth = 0;
  for (const char c : std::string_view(signature).substr(signature.find('('))) {
    if (c == ')' && depth == 1) break;
    if (c == ',' && depth == 1) {
      names.push_back(name_of_parameter(parameter));
      parameter.clear();
      continue;
    }
    if (depth > 0) parameter += c;
    if (c == '(' || c == '<') ++depth;
    if (c == ')' || c == '>') --depth;
  }
  if (!name_of_parameter(parameter).empty()) names.push_back(name_of_parameter(parameter));
  return names;
}

std::string quieted(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "(void)" : ", (void)") + name;
  return out + ";";
}

// In its sorted place in the last block of includes; as a new block after the file's own header, or
// after a block of the standard library's.
void add_include(std::vector<std::string>& lines) {
  const std::string include = "#include \"engine/base/error.hpp\"";
  std::size_t begin = 0, end = 0;
  bool first_block = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] == include) return;
    if (lines[i].rfind("#include", 0) != 0) continue;
    if (end != 0 && end != i) first_block = false;
    if (end != i) begin = i;
    end = i + 1;
  }
  if (first_block || lines[end - 1].rfind("#include <", 0) == 0) {
    const std::vector<std::string> block{"", include};
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(end), block.begin(), block.end());
    return;
  }
  const auto place = std::upper_bound(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                                      lines.begin() + static_cast<std::ptrdiff_t>(end), include);
  lines.insert(place, include);
}

}  // namespace

std::string stub_of(const std::string& reference, const std::string& name) {
  std::vector<std::string> stub;
  bool inside = false;
  bool in_steps = false;  // in the comments that name the steps
  bool thrown = false;
  for (const std::string& line : lines_of(reference)) {
    const std::string_view content = without_indent(line);
    if (content.rfind(region_end, 0) == 0) inside = false;
    if (content.rfind("// Step ", 0) == 0 && stub.back().rfind(region_begin, 0) == 0) {
      in_steps = true;
    }
    in_steps = in_steps && content.rfind("// ", 0) == 0;
    if (!inside || in_steps) stub.push_back(line);
    if (content.rfind(region_begin, 0) != 0) continue;
    inside = true;
    const std::string indent(line.size() - content.size(), ' ');
    if (indent.empty()) continue;
    const auto names = parameters_of(stub);
    if (!names.empty()) {
      stub.push_back(indent + "// Avoids warnings about parameters that are not used yet.");
      stub.push_back(indent + quieted(names));
    }
    stub.push_back(indent + "throw NotImplemented(\"" + name + "\");");
    thrown = true;
  }
  if (inside) throw UsageError(text("the reference of ", name, " has no line '", region_end, "'"));
  if (!thrown) {
    throw UsageError(
        text("the reference of ", name, " has no region '", region_begin, "' inside a function"));
  }
  add_include(stub);
  std::string out;
  for (const std::string& line : stub) out += line + "\n";
  return out;
}

}  // namespace lockstep::grader
