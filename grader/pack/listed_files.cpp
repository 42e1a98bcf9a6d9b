#include "grader/pack/listed_files.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> all_below(const fs::path& root) {
  static const std::set<std::string> left_out{"build", "work", ".git"};
  std::vector<std::string> files;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator();
       ++at) {
    if (at.depth() == 0 && left_out.contains(at->path().filename().string())) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file() && !at->is_symlink()) {
      files.push_back(at->path().lexically_relative(root).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

bool matches(const std::string& pattern, const std::string& file) {
  return ::fnmatch(pattern.c_str(), file.c_str(), 0) == 0;
}

}  // namespace

std::vector<fs::path> listed_files(const fs::path& root, const std::string& list) {
  std::vector<std::string> wanted, unwanted;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    (line.front() == '!' ? unwanted : wanted).push_back(line.substr(line.front() == '!' ? 1 : 0));
  }
  std::set<std::string> used;
  std::vector<fs::path> files;
  for (const std::string& file : all_below(root)) {
    const auto fits = [&](const std::string& pattern) { return matches(pattern, file); };
    if (std::ranges::none_of(wanted, fits)) continue;
    std::ranges::copy_if(wanted, std::inserter(used, used.end()), fits);
    if (std::ranges::none_of(unwanted, fits)) files.emplace_back(file);
  }
  for (const std::string& pattern : wanted) {
    if (!used.contains(pattern)) throw UsageError("the list of files names none by " + pattern);
  }
  return files;
}

}  // namespace lockstep::grader
