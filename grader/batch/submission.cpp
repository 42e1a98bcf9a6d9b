#include "grader/batch/submission.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/sim/verdict.hpp"
#include "grader/batch/answer_files.hpp"
#include "grader/course/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// The student's name in "amy.tar.gz"; the whole name when it is no archive's.
std::string without_ending(const std::string& name) {
  for (const char* ending : {".zip", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar"}) {
    const std::string_view end(ending);
    if (name.size() > end.size() && name.ends_with(end)) {
      return name.substr(0, name.size() - end.size());
    }
  }
  return name;
}

Submission read_entry(const fs::directory_entry& entry,
                      const std::vector<const Exercise*>& exercises,
                      const SubmissionLimits& limits) {
  const std::string name = entry.path().filename().string();
  const bool link = fs::is_symlink(entry.symlink_status());
  const bool folder = !link && entry.is_directory();
  Submission submission;
  submission.student = readable_name(folder ? name : without_ending(name));
  if (folder) {
    read_folder(entry.path(), exercises, limits, submission);
  } else if (!link && entry.is_regular_file() && without_ending(name) != name) {
    read_archive(entry.path(), exercises, limits, submission);
  } else {
    submission.cause = link ? "symbolic_link" : "no_submission";
    submission.reason = link ? "the submission is a symbolic link"
                             : "the submission is neither a folder nor a zip or tar archive";
  }
  return submission;
}

}  // namespace

std::string readable_name(const std::string& bytes) {
  const bool clean = sim::printable(bytes, bytes.size()) == bytes;
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool inner = byte == '-' || byte == '.' || byte == '@' || byte == '+' || byte == ' ';
    const bool plain =
        std::isalnum(byte) != 0 || byte == '_' || (inner && i > 0) || (byte >= 0x80 && clean);
    if (plain) {
      out.push_back(bytes[i]);
    } else {
      char escape[4];
      std::snprintf(escape, sizeof escape, "%%%02X", byte);
      out += escape;
    }
  }
  return out;
}

std::vector<std::string> read_roster(const fs::path& file) {
  std::vector<std::string> names;
  std::istringstream lines(read_text(file));
  for (std::string line; std::getline(lines, line);) {
    std::string name = line.substr(0, line.find(','));
    std::erase_if(name, [](char c) { return c == '"' || c == '\r'; });
    const bool heading = names.empty() && (name == "student" || name == "id" || name == "name");
    if (!name.empty() && !heading) names.push_back(name);
  }
  return names;
}

std::vector<Submission> take_in(const fs::path& folder,
                                const std::vector<const Exercise*>& exercises,
                                const std::vector<std::string>& roster,
                                const SubmissionLimits& limits) {
  if (!fs::is_directory(folder)) {
    throw UsageError(text("there is no folder ", folder.string(),
                          ": it should hold a folder or an archive for each student"));
  }
  std::map<std::string, Submission> all;
  std::set<std::string> expected;
  for (const std::string& name : roster) expected.insert(readable_name(name));
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(".")) continue;
    Submission submission = read_entry(entry, exercises, limits);
    submission.on_roster = roster.empty() || expected.contains(submission.student);
    const auto [at, first] = all.emplace(submission.student, submission);
    if (first) continue;
    at->second.answers.clear();
    at->second.cause = "twice";
    at->second.reason = "there are two submissions with this name, perhaps a folder and an archive";
  }
  for (const std::string& student : expected) {
    if (all.contains(student)) continue;
    Submission nothing;
    nothing.student = student;
    nothing.cause = "missing";
    nothing.reason = "nothing was handed in";
    all.emplace(student, std::move(nothing));
  }
  std::vector<Submission> sorted;
  for (auto& [student, submission] : all) sorted.push_back(std::move(submission));
  return sorted;
}

}  // namespace lockstep::grader
