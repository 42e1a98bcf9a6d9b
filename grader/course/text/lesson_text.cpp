#include "grader/course/text/lesson_text.hpp"

#include <sstream>
#include <string_view>

namespace lockstep::grader {
namespace {

constexpr std::string_view ellipsis = "…";

std::vector<std::string> trimmed_lines_of(const std::string& text) {
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

// The paragraph that ends before the line `end`, counted from 0.
std::string paragraph_before(const std::vector<std::string>& lines, std::size_t end) {
  while (end > 0 && lines[end - 1].empty()) --end;
  std::size_t begin = end;
  while (begin > 0 && !lines[begin - 1].empty()) --begin;
  std::string paragraph;
  for (std::size_t i = begin; i < end; ++i) paragraph += lines[i] + "\n";
  return paragraph;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos;) {
    text.replace(at, what.size(), by);
    at = text.find(what, at + by.size());
  }
  return text;
}

// True of what ./lab says while it builds what a run needs (setup/build.sh, setup/engine.sh).
bool is_news_of_a_build(const std::string& line) {
  const auto begins = [&](const char* words) { return line.starts_with(words); };
  return begins("building…") || begins("building: ") || begins("configuring…") ||
         begins("another build is running in ") ||
         (begins("the trainer with ") && line.ends_with(" is built once, when it is first used"));
}

}  // namespace

std::vector<Block> blocks_of(const std::string& text) {
  std::vector<Block> blocks;
  bool inside = false;
  std::size_t number = 0;
  for (const std::string& line : trimmed_lines_of(text)) {
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

std::vector<Run> runs_of(const std::string& text) {
  std::vector<Run> runs;
  const std::vector<Block> blocks = blocks_of(text);
  const std::vector<std::string> lines = trimmed_lines_of(text);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].info != "sh run") continue;
    const bool shown = i + 1 < blocks.size() && blocks[i + 1].info == "text";
    runs.push_back({blocks[i].text, shown ? blocks[i + 1].text : "", blocks[i].line,
                    paragraph_before(lines, blocks[i].line - 1)});
  }
  return runs;
}

bool output_matches(const std::string& expected, const std::string& seen) {
  const auto wanted = trimmed_lines_of(expected);
  const auto got = trimmed_lines_of(seen);
  return lines_match(wanted.begin(), wanted.end(), got.begin(), got.end());
}

std::string comparable_output(const std::string& expected, const std::string& seen) {
  const bool has_steps = ("\n" + expected).find("\nstep ") != std::string::npos;
  std::istringstream lines(seen);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const bool is_step = line.starts_with("step ") && !has_steps;
    if (!is_step && !is_news_of_a_build(line)) kept += line + "\n";
  }
  return kept;
}

std::string command_as_built(const std::string& command, const std::string& build) {
  const std::string with_lab = replaced(command, "./lab ", "./lab --built '" + build + "' ");
  return replaced(with_lab, "build/release/bin/", build + "/bin/");
}

}  // namespace lockstep::grader
