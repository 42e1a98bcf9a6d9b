#include "grader/course/progress.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <span>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/base/text.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

constexpr const char* opening =
    "# What you have done in the lab; see grader/course/progress.hpp. To merge the files of\n"
    "# two machines, concatenate them: cat one two > work/.progress\n";

using Fields = std::vector<std::string>;

Fields fields_of(const std::string& line) {
  Fields fields{""};
  for (const char letter : line) {
    if (letter == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += letter;
    }
  }
  return fields;
}

// Reads a number, and returns true if the whole field is one.
template <typename Number>
bool reads(const std::string& field, Number& number, int base = 10) {
  const char* const end = field.data() + field.size();
  const auto [rest, failed] = std::from_chars(field.data(), end, number, base);
  return failed == std::errc() && rest == end;
}

void read_judged(const Fields& f, Progress& progress) {
  Judged judged;
  if (f.size() != 9 || !reads(f[2], judged.content_hash, 16) || !reads(f[3], judged.stub_hash, 16))
    return;
  judged.verdict = f[4];
  if (!reads(f[5], judged.points) || !reads(f[6], judged.judged_at)) return;
  judged.cause = f[7];
  judged.message = f[8];
  progress[f[1]].judged(judged);
}

void read_tried(const Fields& f, Progress& progress) {
  Judged tried;
  if (f.size() != 6 || !reads(f[3], tried.judged_at)) return;
  tried.verdict = f[2];
  tried.cause = f[4];
  tried.message = f[5];
  progress[f[1]].tried_elsewhere(tried);
}

void read_begun(const Fields& f, Progress& progress) {
  std::uint64_t stub = 0;
  std::int64_t time = 0;
  if (f.size() != 4 || !reads(f[2], stub, 16) || !reads(f[3], time)) return;
  Standing& standing = progress[f[1]];
  if (time < standing.begun_at) return;
  standing.begun_from = stub;
  standing.begun_at = time;
}

void read_shown(const Fields& f, Progress& progress) {
  std::int64_t time = 0;
  if (!reads(f.back(), time)) return;
  if (f[0] == "hint" && f.size() == 4) {
    const auto [known, fresh] = progress[f[1]].hints.emplace(f[2], time);
    if (!fresh) known->second = std::min(known->second, time);
  } else if (f[0] == "revealed" && f.size() == 3) {
    std::int64_t& at = progress[f[1]].revealed_at;
    at = at == 0 ? time : std::min(at, time);
  }
}

std::string hexadecimal(std::uint64_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return {digits, end};
}

std::string one_line(std::string words) {
  for (char& letter : words) {
    if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
  }
  return words;
}

std::string line_of(const std::string& address, const Judged& judged) {
  return text("judged\t", address, "\t", hexadecimal(judged.content_hash), "\t",
              hexadecimal(judged.stub_hash), "\t", judged.verdict, "\t", judged.points, "\t",
              judged.judged_at, "\t", one_line(judged.cause), "\t", one_line(judged.message), "\n");
}

// Holds the folder of the progress for itself, for a while.
class Lock {
 public:
  explicit Lock(const std::filesystem::path& folder)
      : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ >= 0) ::flock(folder_, LOCK_EX);  // where there are no locks, without
  }
  ~Lock() {
    if (folder_ >= 0) ::close(folder_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int folder_;
};

}  // namespace

void Standing::judged(const Judged& report) {
  const auto is_newer = [&](const std::optional<Judged>& known) {
    return !known || report.judged_at >= known->judged_at;
  };
  if (is_newer(last)) last = report;
  if (tried && report.judged_at >= tried->judged_at) tried.reset();
  if (report.verdict == "pass" && is_newer(passed)) passed = report;
}

void Standing::tried_elsewhere(const Judged& report) {
  const auto is_older = [&](const std::optional<Judged>& known) {
    return known && report.judged_at < known->judged_at;
  };
  if (!is_older(last) && !is_older(tried)) tried = report;
}

Progress read_progress(const std::filesystem::path& file) {
  Progress progress;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const Fields fields = fields_of(line);
    if (fields[0] == "judged") read_judged(fields, progress);
    if (fields[0] == "tried") read_tried(fields, progress);
    if (fields[0] == "begun") read_begun(fields, progress);
    if (fields[0] == "hint" || fields[0] == "revealed") read_shown(fields, progress);
  }
  return progress;
}

void write_progress(const std::filesystem::path& file, const Progress& progress) {
  std::string out = opening;
  for (const auto& [address, standing] : progress) {
    if (standing.begun_at != 0) {
      out += text("begun\t", address, "\t", hexadecimal(standing.begun_from), "\t",
                  standing.begun_at, "\n");
    }
    const bool passed_before = standing.passed && standing.last->verdict != "pass";
    if (passed_before) out += line_of(address, *standing.passed);
    if (standing.last) out += line_of(address, *standing.last);
    if (const auto& tried = standing.tried) {
      out += text("tried\t", address, "\t", tried->verdict, "\t", tried->judged_at, "\t",
                  one_line(tried->cause), "\t", one_line(tried->message), "\n");
    }
    for (const auto& [rung, time] : standing.hints) {
      out += text("hint\t", address, "\t", rung, "\t", time, "\n");
    }
    if (standing.revealed_at != 0) {
      out += text("revealed\t", address, "\t", standing.revealed_at, "\n");
    }
  }
  // Written beside and moved into place, so that an interrupted check loses nothing.
  const std::filesystem::path unfinished = file.string() + ".new";
  write_text(unfinished, out);
  std::filesystem::rename(unfinished, file);
}

void change_progress(const std::filesystem::path& file,
                     const std::function<void(Progress&)>& change) {
  std::filesystem::create_directories(file.parent_path());
  const Lock lock(file.parent_path());
  Progress progress = read_progress(file);
  change(progress);
  write_progress(file, progress);
}

std::uint64_t content_hash_of(const std::filesystem::path& file) {
  return content_hash(read_text(file));
}

std::uint64_t content_hash(const std::string& content) {
  return checksum_of(std::as_bytes(std::span(content)));
}

std::int64_t seconds_now() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace lockstep::grader
