// A small reader of Markdown: fences, links, code spans. Not a parser of everything it allows.
#include "tests/lessons/text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ellipsis = "…";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto end = line.find_last_not_of(" \t\r");
    lines.push_back(end == std::string::npos ? "" : line.substr(0, end + 1));
  }
  return lines;
}

// What stands between every `open` and the next `close` on one line.
std::vector<std::string> between(const std::string& text, std::string_view open, char close) {
  std::vector<std::string> found;
  for (auto at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    const auto end = text.find_first_of(std::string{close, '\n'}, at);
    if (end == std::string::npos) break;
    if (text[end] == close) found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

std::string without_blocks(const std::string& text) {
  std::string rest;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
    } else if (!inside) {
      rest += line + "\n";
    }
  }
  return rest;
}

}  // namespace

std::vector<Document> documents() {
  const fs::path root = LOCKSTEP_ROOT;
  std::vector<Document> found;
  const auto add = [&](const fs::path& path) {
    const std::string name = fs::relative(path, root).string();
    if (path.extension() == ".md") found.push_back({name, file_text(name)});
  };
  for (const auto& entry : fs::directory_iterator(root)) add(entry.path());
  for (const char* folder : {"docs", "lessons", "engine", "exercises"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) add(entry.path());
  }
  std::sort(found.begin(), found.end(),
            [](const Document& a, const Document& b) { return a.path < b.path; });
  return found;
}

std::string file_text(const std::string& path) {
  std::ifstream in(fs::path(LOCKSTEP_ROOT) / path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool exists(const std::string& path) { return fs::exists(fs::path(LOCKSTEP_ROOT) / path); }

std::optional<std::string> quoted_file(const Block& block) {
  std::istringstream words(block.info);
  for (std::string word; words >> word;) {
    if (word.rfind("file=", 0) == 0) return word.substr(5);
  }
  return std::nullopt;
}

std::vector<std::string> links_of(const std::string& text) {
  std::vector<std::string> links;
  for (const std::string& target : between(without_blocks(text), "](", ')')) {
    const bool is_code = target.find(' ') != std::string::npos;  // [](const Tensor& grad)
    if (is_code || target.find("://") != std::string::npos || target.front() == '#') continue;
    links.push_back(target.substr(0, target.find('#')));
  }
  return links;
}

std::vector<std::string> paths_of(const std::string& text) {
  constexpr std::array tops{"engine/", "grader/",  "solutions/", "exercises/", "tests/",
                            "docs/",   "lessons/", "setup/",     "cmake/",     ".ci/"};
  std::vector<std::string> paths;
  for (const std::string& span : between(without_blocks(text), "`", '`')) {
    const bool ours = std::any_of(tops.begin(), tops.end(),
                                  [&](const char* top) { return span.rfind(top, 0) == 0; });
    const bool pattern = span.find("NN") != std::string::npos ||
                         span.find_first_of("<*{ ") != std::string::npos ||
                         span.find(ellipsis) != std::string::npos;
    if (ours && !pattern) paths.push_back(span);
  }
  return paths;
}

std::vector<std::string> tests_named_in(const std::string& text) {
  std::vector<std::string> named = between(without_blocks(text), "`", '`');
  std::erase_if(named, [](const std::string& span) { return span.find(": ") == span.npos; });
  return named;
}

std::vector<std::string> test_files() {
  const fs::path root = LOCKSTEP_ROOT;
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    files.push_back(fs::relative(entry.path(), root).string());
  }
  return files;
}

std::vector<std::string> commands_of(const std::string& text) {
  std::vector<std::string> commands;
  const std::string call = "./lab ";
  for (auto at = text.find(call); at != std::string::npos; at = text.find(call, at)) {
    at += call.size();
    const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at);
    if (end != at && end != std::string::npos) commands.push_back(text.substr(at, end - at));
  }
  return commands;
}

}  // namespace lockstep::lessons
