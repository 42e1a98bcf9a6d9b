#include "grader/batch/processes/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t mark_length = 9;  // eight digits and a space

std::string checksum(const std::string& text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  char mark[mark_length + 1];
  std::snprintf(mark, sizeof mark, "%08lx ", crc32_z(0, bytes, text.size()));
  return mark;
}

// The record of a whole line; nothing when the line is not as it was written.
std::optional<nlohmann::json> read_line(const std::string& line) {
  if (line.size() < mark_length) return std::nullopt;
  const std::string record = line.substr(mark_length);
  if (checksum(record) != line.substr(0, mark_length)) return std::nullopt;
  auto document = nlohmann::json::parse(record, nullptr, false);
  return document.is_discarded() ? std::nullopt : std::optional(std::move(document));
}

void write_all(int to, const std::string& content, const fs::path& file) {
  std::size_t sent = 0;
  while (sent < content.size()) {
    const ssize_t count = ::write(to, content.data() + sent, content.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw Error(text("cannot write ", file.string(), ": ", std::strerror(errno)));
    }
    sent += static_cast<std::size_t>(count);
  }
}

}  // namespace

Journal::Journal(const fs::path& file) {
  file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) throw Error(text("cannot open ", file.string(), ": ", std::strerror(errno)));
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(file_);
    throw UsageError(text("another ./lab grade is at work on ", file.parent_path().string(),
                          ": wait until it is done, or choose another --out"));
  }
  const std::string content = read_text(file);
  std::size_t good = 0;
  for (std::size_t end; (end = content.find('\n', good)) != std::string::npos; good = end + 1) {
    auto record = read_line(content.substr(good, end - good));
    if (!record) break;
    records_.push_back(std::move(*record));
  }
  if (good < content.size() && ::ftruncate(file_, static_cast<off_t>(good)) != 0) {
    throw Error(text("cannot repair ", file.string(), ": ", std::strerror(errno)));
  }
}

Journal::~Journal() { ::close(file_); }

const std::vector<nlohmann::json>& Journal::records() const { return records_; }

void Journal::append(const nlohmann::json& record) {
  const std::string line = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  write_all(file_, checksum(line) + line + "\n", "the journal");
  if (::fdatasync(file_) != 0) {
    throw Error(text("the journal does not reach the disk: ", std::strerror(errno)));
  }
  records_.push_back(record);
}

void write_whole(const fs::path& file, const std::string& content) {
  const fs::path unfinished = file.string() + ".tmp";
  const int to = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (to < 0) throw Error(text("cannot write ", file.string(), ": ", std::strerror(errno)));
  try {
    write_all(to, content, unfinished);
  } catch (...) {
    ::close(to);
    throw;
  }
  const bool kept = ::fsync(to) == 0;
  ::close(to);
  if (!kept) throw Error(text(file.string(), " does not reach the disk: is it full?"));
  fs::rename(unfinished, file);
  const int folder = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);  // so that the new name, too, survives
  ::close(folder);
}

}  // namespace lockstep::grader
