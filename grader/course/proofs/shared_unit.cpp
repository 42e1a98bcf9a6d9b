#include "grader/course/proofs/shared_unit.hpp"

#include <cctype>
#include <regex>
#include <string_view>

namespace lockstep::grader {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Goes through the source once and copies it, line for line.
class Wrapping {
 public:
  Wrapping(const std::string& source, const std::string& inner) : in_(source), inner_(inner) {}

  std::optional<UnitPart> part() {
    while (at_ < in_.size() && fits_) step();
    if (!fits_ || depth_ != 0 || outside_.find_first_not_of(" \n\t") != std::string::npos) {
      return std::nullopt;
    }
    return std::move(part_);
  }

 private:
  void step() {
    const char c = in_[at_];
    const std::string_view rest = std::string_view(in_).substr(at_);
    if (c == '#' && line_is_blank_) return directive();
    if (rest.starts_with("//")) return copy_until("\n", 0);
    if (rest.starts_with("/*")) return copy_until("*/", 2);
    if (c == '"' || (c == '\'' && (at_ == 0 || !in_word(in_[at_ - 1])))) return quoted(c);
    if (c == '{') {
      open();
    } else if (c == '}') {
      close();
    } else {
      if (depth_ == 0) outside_ += c;
      copy();
    }
  }

  void copy() {
    const char c = in_[at_++];
    line_is_blank_ = c == '\n' || (line_is_blank_ && (c == ' ' || c == '\t'));
    part_.body += c;
  }

  // As far as `end`, of which `length` characters belong to it.
  void copy_until(std::string_view end, std::size_t length) {
    const std::size_t found = in_.find(end, at_ + 1);
    const std::size_t stop = found == std::string::npos ? in_.size() : found + length;
    while (at_ < stop) copy();
  }

  void quoted(char quote) {
    fits_ = at_ == 0 || quote == '\'' || in_[at_ - 1] != 'R';
    copy();
    while (at_ < in_.size() && in_[at_] != quote) {
      if (in_[at_] == '\\') copy();
      if (at_ < in_.size()) copy();
    }
    if (at_ < in_.size()) copy();
  }

  void directive() {
    const std::size_t end = std::min(in_.find('\n', at_), in_.size());
    const std::string line = in_.substr(at_, end - at_);
    fits_ = depth_ == 0 && line.starts_with("#include ") && line.back() != '\\';
    part_.includes += line + "\n";
    at_ = end;
  }

  void open() {
    static const std::regex named("\\s*namespace\\s+\\w+(::\\w+)*\\s*");
    copy();
    if (depth_++ > 0) return;
    fits_ = std::regex_match(outside_, named);
    outside_.clear();
    part_.body += " namespace " + inner_ + " {";
  }

  void close() {
    if (--depth_ == 0) part_.body += "} ";
    fits_ = depth_ >= 0;
    copy();
  }

  const std::string& in_;
  const std::string& inner_;
  UnitPart part_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool line_is_blank_ = true;  // so far
  bool fits_ = true;
  std::string outside_;  // what is declared outside of all braces, since the last one
};

}  // namespace

std::optional<UnitPart> unit_part(const std::string& source, const std::string& inner) {
  return Wrapping(source, inner).part();
}

std::string unit_of(const std::vector<UnitPart>& parts, const std::vector<std::string>& files) {
  std::string unit = parts.empty() ? "" : parts.front().includes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    unit += "#line 1 \"" + files[i] + "\"\n" + parts[i].body + "\n";
  }
  return unit;
}

}  // namespace lockstep::grader
