// A file of the hostile corpus: what its first lines say of it, and the watch for what it leaves.
//   // exercise: ring_all_reduce
//   // verdict: rank exited
//   // says: called exit(0)          part of the sentence
//   // sandboxed: crash              the verdict of ./lab grade, where it or its sentence differs
//   // then: the reference           is appended: the attack comes before a right answer
//   // then: grader/impostors/…       so is another file of the lab, such as a lying part
//   // unseen: yes                   ␀ stands for a byte that is 0, ␍ for a carriage return; what
//                                    stands before ␢ is left out, and ␢ is a byte-order mark
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "engine/base/error.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::test {

inline std::string with_unseen(std::string text) {
  const std::string begin = "␢", byte_order_mark = "\xEF\xBB\xBF";
  if (const std::size_t at = text.find(begin); at != std::string::npos) {
    text.replace(0, at + begin.size(), byte_order_mark);
  }
  const std::pair<std::string, char> all[] = {{"␀", '\0'}, {"␍", '\r'}};
  for (const auto& [seen, unseen] : all) {
    for (std::size_t at; (at = text.find(seen)) != std::string::npos;) {
      text.replace(at, seen.size(), 1, unseen);
    }
  }
  return text;
}

inline std::optional<std::string> header_in(const std::string& text, const std::string& key) {
  const std::string mark = "// " + key + ":";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  std::string value = text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
  while (value.starts_with(' ')) value.erase(0, 1);
  return value;
}

struct HostileFile {
  HostileFile(const std::filesystem::path& file, const std::filesystem::path& root)
      : name(file.stem()), content(grader::read_text(file)) {
    const auto needed = [&](const char* key) {
      const auto value = header_in(content, key);
      if (!value) throw Error(file.string() + " does not begin with '// " + key + ": …'");
      return *value;
    };
    exercise = needed("exercise");
    verdict = needed("verdict");
    says = needed("says");
    const auto other = header_in(content, "sandboxed");
    differs_in_a_class = other.has_value();
    sandboxed = other.value_or(verdict);
    if (!other) says_sandboxed = says;
    const auto then = header_in(content, "then");
    if (header_in(content, "unseen")) content = with_unseen(content);
    if (then && then->starts_with("grader/")) {
      content += "\n" + grader::read_text(root / *then);
    } else if (then) {
      const grader::Course course = grader::read_course(root / "exercises" / "course.toml");
      const auto& part = grader::exercise_named(course, exercise);
      content += "\n" + grader::read_text(root / "solutions" / part.file());
    }
  }
  std::string name, content, exercise, verdict, says, sandboxed, says_sandboxed;
  bool differs_in_a_class = false;
};

// From now on this process adopts what its children leave behind.
inline void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

// Processes that are being killed need a moment, and a busy machine a long one; those that live on
// are left behind.
inline bool nothing_left_behind() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < until) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return true;
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace lockstep::test
