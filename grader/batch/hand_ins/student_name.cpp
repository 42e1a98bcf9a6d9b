#include "grader/batch/hand_ins/student_name.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include "engine/base/bytes.hpp"
#include "grader/batch/hand_ins/hand_in.hpp"
#include "grader/batch/processes/worker_processes.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t pattern_bytes_max = 500;
constexpr double matching_s = 10;  // of all names; a pattern may take for ever
constexpr const char* metadata_name = "submission_metadata.yml";

bool is_number(std::string_view word) {
  return !word.empty() && word.size() < 18 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> split_at_underscores(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, '_');) parts.push_back(part);
  return parts;
}

// USER[_LATE]_ID_FILE_upload[-ATTEMPT]; an anonymous one is [LATE_]anon_CODE_FILE_upload.
struct CanvasName {
  std::string student, id, upload;
  long attempt = 0;
};

std::optional<CanvasName> canvas_name(const std::string& name) {
  std::vector<std::string> parts = split_at_underscores(name);
  if (parts.size() > 1 && parts[0] == "LATE" && parts[1] == "anon") parts.erase(parts.begin());
  std::size_t id = 1;
  while (id + 2 < parts.size() &&
         !(is_number(parts[id + 1]) && (is_number(parts[id]) || (id == 1 && parts[0] == "anon")))) {
    ++id;
  }
  if (id + 2 >= parts.size()) return std::nullopt;
  CanvasName canvas;
  canvas.id = parts[id];
  const std::size_t end = parts[id - 1] == "LATE" && id > 1 ? id - 1 : id;
  for (std::size_t i = 0; i < end; ++i) canvas.student += (i == 0 ? "" : "_") + parts[i];
  if (canvas.student == "anon") canvas.student += "_" + canvas.id;
  for (std::size_t i = id + 2; i < parts.size(); ++i) canvas.upload += "_" + parts[i];
  const std::size_t dash = canvas.upload.rfind('-');
  if (dash != std::string::npos && is_number(canvas.upload.substr(dash + 1))) {
    canvas.attempt = std::stol(canvas.upload.substr(dash + 1));
    canvas.upload.erase(dash);
  }
  canvas.upload = canvas.id + canvas.upload;
  return canvas;
}

HandInName by_canvas(const std::string& name, const std::string& pattern) {
  const auto canvas = canvas_name(name);
  if (!canvas || canvas->student.empty()) return {};
  return {{pattern == "canvas-id" ? canvas->id : canvas->student}, canvas->upload, canvas->attempt};
}

HandInName by_moodle(const std::string& name, const std::string& pattern) {
  const std::size_t mark = name.find("_assignsubmission_file");
  const std::size_t dash = mark == std::string::npos ? mark : name.rfind('_', mark - 1);
  if (mark == std::string::npos || mark == 0 || dash == std::string::npos || dash == 0) return {};
  const std::string id = name.substr(dash + 1, mark - dash - 1);
  if (!is_number(id)) return {};
  return {{pattern == "moodle-id" ? id : name.substr(0, dash)}, id + name.substr(mark), 0};
}

// The common beginning of all names, up to and with a dash.
std::string common_beginning(const std::vector<std::string>& names) {
  std::string same = names.empty() ? "" : names.front();
  for (const std::string& name : names) {
    const auto differ = std::mismatch(same.begin(), same.end(), name.begin(), name.end());
    same.erase(differ.first, same.end());
  }
  return same.substr(0, same.rfind('-') == std::string::npos ? 0 : same.rfind('-') + 1);
}

std::string github_beginning(const std::string& pattern, const fs::path& folder,
                             const std::vector<std::string>& names) {
  if (pattern.starts_with("github:")) return pattern.substr(7) + "-";
  constexpr std::string_view end = "-submissions";
  const fs::path normal = fs::absolute(folder / "").lexically_normal().parent_path();
  const std::string called = normal.filename();
  if (called.size() > end.size() && called.ends_with(end)) {
    return called.substr(0, called.size() - end.size()) + "-";
  }
  const std::string same = names.size() > 1 ? common_beginning(names) : "";
  if (same.empty()) {
    throw UsageError(
        "--student-from github: the names have no beginning in common; say which "
        "assignment they are of, such as --student-from github:lockstep");
  }
  return same;
}

std::vector<HandInName> by_github(const std::string& pattern, const fs::path& folder,
                                  const std::vector<std::string>& names) {
  const std::string beginning = github_beginning(pattern, folder, names);
  std::vector<HandInName> found;
  for (const std::string& name : names) {
    const bool fits = name.size() > beginning.size() && name.starts_with(beginning);
    found.push_back(fits ? HandInName{{name.substr(beginning.size())}, "", 0} : HandInName{});
  }
  return found;
}

std::vector<HandInName> by_gradescope(const fs::path& folder,
                                      const std::vector<std::string>& names) {
  if (!fs::is_regular_file(fs::symlink_status(folder / metadata_name))) {
    throw UsageError(text("--student-from gradescope: there is no ", metadata_name, " in ",
                          folder.string(), ": pass the folder of Gradescope's export"));
  }
  std::map<std::string, GradescopeHandIn> listed;
  for (GradescopeHandIn& one : gradescope_hand_ins(read_text(folder / metadata_name))) {
    listed.emplace(one.folder, std::move(one));
  }
  std::vector<HandInName> found;
  for (const std::string& name : names) {
    const auto at = listed.find(name);
    found.push_back(at == listed.end()
                        ? HandInName{}
                        : HandInName{at->second.students, name, 0, at->second.created_at});
  }
  return found;
}

HandInName matched(const std::regex& pattern, const std::string& name) {
  std::smatch match;
  if (!std::regex_search(name, match, pattern) || match[1].length() == 0) return {};
  const std::string attempt = match.size() > 2 ? match[2].str() : "";
  return {{match[1].str()}, "", is_number(attempt) ? std::stol(attempt) : 0};
}

std::string packed_names(const std::vector<HandInName>& names) {
  ByteWriter out;
  for (const HandInName& name : names) {
    out.put_text(name.students.empty() ? "" : name.students.front()).put(name.attempt);
  }
  const Bytes bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::regex expression_of(const std::string& pattern) {
  try {
    if (pattern.size() <= pattern_bytes_max) {
      std::regex expression(pattern, std::regex::ECMAScript);
      if (expression.mark_count() == 1 || expression.mark_count() == 2) return expression;
    }
  } catch (const std::regex_error&) {  // said below
  }
  throw UsageError("--student-from " + pattern +
                   ": pass canvas, canvas-id, moodle, moodle-id, gradescope, github, "
                   "github:ASSIGNMENT, or a regular expression with one group, such as "
                   "'^hw1-(.+)$'");
}

// In a child: a pattern may go on for ever, or down until there is no stack.
std::vector<HandInName> by_expression(const std::string& pattern,
                                      const std::vector<std::string>& names) {
  const std::regex expression = expression_of(pattern);
  std::vector<HandInName> found;
  const auto match_all = [&] {
    std::vector<HandInName> all;
    for (const std::string& name : names) all.push_back(matched(expression, name));
    return packed_names(all);
  };
  WorkerLimits limits;
  limits.deadline_s = matching_s;
  work_through({match_all}, limits, [&](std::size_t, const Outcome& outcome) {
    if (outcome.state != Outcome::State::answered) return;
    ByteReader in(std::as_bytes(std::span(outcome.answer)));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string student = in.get_text();
      const long attempt = in.get<long>();
      found.push_back(student.empty() ? HandInName{} : HandInName{{student}, "", attempt});
    }
  });
  if (found.size() == names.size()) return found;
  throw UsageError(text("--student-from ", pattern, ": the pattern is not through with ",
                        names.size(), " names in ", matching_s, " s; write a simpler one"));
}

}  // namespace

std::vector<HandInName> names_by(const std::string& pattern, const fs::path& folder,
                                 const std::vector<std::string>& entries) {
  std::vector<std::string> names;
  for (const std::string& entry : entries) names.push_back(without_archive_ending(entry));
  if (pattern.starts_with("github:") || pattern == "github") {
    return by_github(pattern, folder, names);
  }
  if (pattern == "gradescope") return by_gradescope(folder, names);
  const bool canvas = pattern == "canvas" || pattern == "canvas-id";
  if (!pattern.empty() && !canvas && pattern != "moodle" && pattern != "moodle-id") {
    return by_expression(pattern, names);
  }
  std::vector<HandInName> found;
  for (const std::string& name : names) {
    found.push_back(pattern.empty() ? HandInName{{name}, "", 0}
                    : canvas        ? by_canvas(name, pattern)
                                    : by_moodle(name, pattern));
  }
  return found;
}

bool is_of_export(const std::string& pattern, const std::string& entry) {
  return pattern == "gradescope" && entry == metadata_name;
}

}  // namespace lockstep::grader
