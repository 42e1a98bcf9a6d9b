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

bool line_matches(std::string_view expected, std::string_view seen) {
  const auto hole = expected.find(ellipsis);
  if (hole == std::string_view::npos) return expected == seen;
  if (seen.substr(0, hole) != expected.substr(0, hole)) return false;
  const std::string_view rest = expected.substr(hole + ellipsis.size());
  for (std::size_t at = hole; at <= seen.size(); ++at) {
    if (line_matches(rest, seen.substr(at))) return true;
  }
  return false;
}

using Line = std::vector<std::string>::const_iterator;

bool lines_match(Line expected, Line expected_end, Line seen, Line seen_end) {
  if (expected == expected_end) return seen == seen_end;
  if (*expected == ellipsis) {
    for (Line at = seen;; ++at) {
      if (lines_match(expected + 1, expected_end, at, seen_end)) return true;
      if (at == seen_end) return false;
    }
  }
  return seen != seen_end && line_matches(*expected, *seen) &&
         lines_match(expected + 1, expected_end, seen + 1, seen_end);
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

std::vector<Block> blocks_of(const std::string& text) {
  std::vector<Block> blocks;
  bool inside = false;
  std::size_t number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (line.rfind("```", 0) == 0) {
      if (!inside) blocks.push_back({line.substr(3), "", number});
      inside = !inside;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

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
    if (target.find("://") != std::string::npos || target.front() == '#') continue;
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

std::vector<Run> runs_of(const std::string& text) {
  std::vector<Run> runs;
  const std::vector<Block> blocks = blocks_of(text);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].info != "sh run") continue;
    const bool shown = i + 1 < blocks.size() && blocks[i + 1].info == "text";
    runs.push_back({blocks[i].text, shown ? blocks[i + 1].text : "", blocks[i].line});
  }
  return runs;
}

bool output_matches(const std::string& expected, const std::string& seen) {
  const auto wanted = lines_of(expected);
  const auto got = lines_of(seen);
  return lines_match(wanted.begin(), wanted.end(), got.begin(), got.end());
}

}  // namespace lockstep::lessons
