// Gradescope's submission_metadata.yml, as its exports hold it:
//
//   submission_123456789:
//     :submitters:
//     - :name: Ada Lovelace
//       :sid: '1815'
//       :email: ada@example.org
//     :created_at: 2026-11-22 17:34:00.861687000 Z
//
// Only these lines are read, so it needs no more of YAML than three kinds of quotes.
#include <optional>
#include <sstream>

#include "grader/batch/hand_ins/student_name.hpp"

namespace lockstep::grader {
namespace {

struct Submitter {
  std::string name, sid, email;
  const std::string& called() const { return !sid.empty() ? sid : !email.empty() ? email : name; }
};

// A scalar on its line: plain, 'single' or "double" quoted.
std::string scalar(std::string written) {
  const std::size_t end = written.find_last_not_of(" \t\r");
  written.erase(end == std::string::npos ? 0 : end + 1);
  if (written == "null" || written == "~") return "";
  const char quote = written.empty() ? ' ' : written.front();
  if ((quote != '\'' && quote != '"') || written.size() < 2 || written.back() != quote) {
    return written;
  }
  std::string plain;
  for (std::size_t i = 1; i + 1 < written.size(); ++i) {
    const bool doubled = quote == '\'' && written[i] == '\'';
    const bool escaped = quote == '"' && written[i] == '\\';
    if ((doubled || escaped) && i + 2 < written.size()) ++i;
    plain += written[i];
  }
  return plain;
}

// The value behind "  - :name: " or "    :name: "; nothing for another key.
std::optional<std::string> value_of(const std::string& line, const std::string& key) {
  const std::size_t start = line.find_first_not_of(" -");
  const std::string begins = ":" + key + ":";
  if (start == std::string::npos || line.compare(start, begins.size(), begins) != 0) {
    return std::nullopt;
  }
  const std::size_t value = line.find_first_not_of(' ', start + begins.size());
  return value == std::string::npos ? "" : scalar(line.substr(value));
}

class MetadataReader {
 public:
  void read(const std::string& line) {
    if (!line.empty() && line.front() != ' ' && line.front() != '-') return begin(line);
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos || folders_.empty()) return;
    if (indent == 2 && line[indent] == ':') {
      end_submitter();
      inside_ = line.compare(indent, 12, ":submitters:") == 0;
      if (const auto time = value_of(line, "created_at")) folders_.back().created_at = *time;
      return;
    }
    if (!inside_) return;
    if (line[indent] == '-') end_submitter();
    if (const auto name = value_of(line, "name")) now_.name = *name;
    if (const auto sid = value_of(line, "sid")) now_.sid = *sid;
    if (const auto email = value_of(line, "email")) now_.email = *email;
  }
  std::vector<GradescopeHandIn> folders() {
    end_submitter();
    return std::move(folders_);
  }

 private:
  void begin(const std::string& line) {
    end_submitter();
    inside_ = false;
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos) return;
    folders_.push_back({scalar(line.substr(0, colon)), {}, ""});
  }
  void end_submitter() {
    if (inside_ && !folders_.empty() && !now_.called().empty()) {
      folders_.back().students.push_back(now_.called());
    }
    now_ = {};
  }

  std::vector<GradescopeHandIn> folders_;
  Submitter now_;
  bool inside_ = false;
};

}  // namespace

std::vector<GradescopeHandIn> gradescope_hand_ins(const std::string& metadata) {
  MetadataReader reader;
  std::istringstream lines(metadata);
  for (std::string line; std::getline(lines, line);) reader.read(line);
  return reader.folders();
}

}  // namespace lockstep::grader
