// Reading files, and looking at a line's code without its comments and strings.
#include "tests/house/sources.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace lockstep::house {

std::filesystem::path root() {
  const char* named = std::getenv("LOCKSTEP_HOUSE");
  return named != nullptr ? named : LOCKSTEP_ROOT;
}

Source source_of(std::string path, const std::string& text) {
  Source source{std::move(path), {}};
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) source.lines.push_back(line);
  return source;
}

std::vector<Source> sources_under(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::vector<Source> sources;
  for (const std::string& folder : folders) {
    if (!fs::exists(root() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
      const fs::path& path = entry.path();
      const auto kind = path.extension();
      if (kind != ".cpp" && kind != ".hpp" && kind != ".cu" && kind != ".cuh") continue;
      std::ifstream in(path);
      std::ostringstream text;
      text << in.rdbuf();
      sources.push_back(source_of(fs::relative(path, root()).string(), text.str()));
    }
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

std::string code_of(const std::string& line) {
  std::string code;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_string) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == '"') {
        in_string = false;
        code += '"';
      }
      continue;
    }
    if (line[i] == '/' && i + 1 < line.size() && line[i + 1] == '/') break;
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\'')) in_string = true;
    code += line[i];
  }
  return code;
}

std::string complaint(const Source& source, std::size_t line_index, const std::string& why) {
  return source.path + ":" + std::to_string(line_index + 1) + ": " + why;
}

std::string joined(const Complaints& complaints) {
  std::string all;
  for (const std::string& one : complaints) all += one + "\n";
  return all;
}

}  // namespace lockstep::house
