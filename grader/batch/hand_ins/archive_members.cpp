// Members of an archive, one after the other, each counted whether it is kept or not.
#include "grader/batch/hand_ins/archive_members.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "engine/base/bytes.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/hand_in.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t name_bytes_max = 4096;  // a longer one matches no exercise

struct Closed {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

// The whole submission is refused.
struct Refusal {
  std::string cause, reason;
};

// As the archive spells it: in UTF-8 where it says which letters it means.
std::string name_of(archive_entry* entry) {
  const char* name = archive_entry_pathname_utf8(entry);
  if (name == nullptr) name = archive_entry_pathname(entry);
  return name != nullptr && std::strlen(name) <= name_bytes_max ? name : "";
}

Entry::Kind kind_of(archive_entry* entry) {
  if (archive_entry_filetype(entry) == AE_IFLNK || archive_entry_hardlink(entry) != nullptr) {
    return Entry::Kind::link;
  }
  if (archive_entry_filetype(entry) == AE_IFDIR) return Entry::Kind::folder;
  return archive_entry_filetype(entry) == AE_IFREG ? Entry::Kind::file : Entry::Kind::other;
}

class ArchiveReader {
 public:
  // The bytes must outlive it.
  ArchiveReader(const std::string& bytes, const SubmissionLimits& limits)
      : reader_(archive_read_new()), limits_(limits) {
    archive_read_support_format_zip(reader_.get());
    archive_read_support_format_tar(reader_.get());
    archive_read_support_filter_gzip(reader_.get());
    archive_read_support_filter_bzip2(reader_.get());
    archive_read_support_filter_xz(reader_.get());
    if (archive_read_open_memory(reader_.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
      throw unreadable();
    }
  }

  // The next member, or nullptr after the last one.
  archive_entry* next() {
    archive_entry* entry = nullptr;
    const int state = archive_read_next_header(reader_.get(), &entry);
    if (state == ARCHIVE_EOF) return nullptr;
    if (state != ARCHIVE_OK && state != ARCHIVE_WARN) throw unreadable();
    if (++members_ > limits_.members) {
      throw Refusal{"bomb", text("the archive has more than ", limits_.members,
                                 " members: hand in work/ alone, as ./lab submit packs it")};
    }
    return entry;
  }

  // The member's content, or nullopt where it is too large. All of it is counted, kept or not.
  std::optional<std::string> content() {
    std::string all;
    bool whole = true;
    const void* data = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    int state;
    while ((state = archive_read_data_block(reader_.get(), &data, &size, &offset)) == ARCHIVE_OK) {
      unpacked_ += size;
      if (unpacked_ > limits_.unpacked_bytes) {
        throw Refusal{"bomb",
                      text("the archive holds more than ", limits_.unpacked_bytes, " bytes")};
      }
      const auto at = static_cast<std::size_t>(offset);
      whole = whole && offset >= 0 && at <= limits_.file_bytes && size <= limits_.file_bytes - at;
      if (!whole) continue;
      all.resize(std::max(all.size(), at + size));
      all.replace(at, size, static_cast<const char*>(data), size);
    }
    if (state != ARCHIVE_EOF) throw unreadable();
    return whole ? std::optional(std::move(all)) : std::nullopt;
  }

 private:
  Refusal unreadable() const {
    const char* why = archive_error_string(reader_.get());
    return {"bad_archive", "the archive cannot be read: " +
                               sim::printable(why != nullptr ? why : "unknown format", 200)};
  }

  std::unique_ptr<archive, Closed> reader_;
  SubmissionLimits limits_;
  int members_ = 0;
  std::size_t unpacked_ = 0;
};

// The members of the archive, with the contents of those that may be an answer by the end of their
// path.
struct Members {
  std::vector<Entry> entries;
  std::map<std::size_t, std::optional<std::string>> contents;  // nullopt: too large
};

Members members_of(ArchiveReader& reader, const std::vector<const Exercise*>& exercises) {
  std::set<std::string> names;
  for (const Exercise* exercise : exercises) names.insert(exercise->file());
  const auto is_wanted = [&](const std::string& path) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return path == name || path.ends_with("/" + name);
    });
  };
  Members members;
  while (archive_entry* entry = reader.next()) {
    const Entry member{kind_of(entry), name_of(entry)};
    auto content = reader.content();
    if (is_wanted(normal_path(member.path))) {
      members.contents[members.entries.size()] = std::move(content);
    }
    members.entries.push_back(member);
  }
  return members;
}

constexpr std::size_t cause_bytes_max = 40, reason_bytes_max = 1000;

std::string sentence(ByteReader& in, std::size_t bytes_max) {
  return sim::printable(in.get_text(bytes_max), bytes_max);
}

}  // namespace

void read_members(const std::string& bytes, const std::vector<const Exercise*>& exercises,
                  const SubmissionLimits& limits, Submission& submission) {
  try {
    ArchiveReader reader(bytes, limits);
    Members members = members_of(reader, exercises);
    const auto read = [&](std::size_t i) -> Answer {
      auto& content = members.contents.at(i);
      if (content) return {Answer::State::handed_in, std::move(*content), "", ""};
      return {Answer::State::refused, "", "too_large",
              text(members.entries[i].path, " has more than ", limits.file_bytes, " bytes")};
    };
    take_answers(members.entries, exercises, read, submission);
  } catch (const Refusal& refusal) {
    submission.cause = refusal.cause;
    submission.reason = refusal.reason;
  }
}

std::string reply_of(const Submission& submission) {
  ByteWriter out;
  out.put_text(submission.cause).put_text(submission.reason).put(submission.answers.size());
  for (const auto& [address, answer] : submission.answers) {
    out.put_text(address).put(answer.state).put_text(answer.content);
    out.put_text(answer.cause).put_text(answer.reason);
  }
  const Bytes bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_reply(const std::string& reply, const SubmissionLimits& limits, Submission& submission) {
  ByteReader in(std::as_bytes(std::span(reply)));
  Submission said = submission;
  said.cause = sentence(in, cause_bytes_max);
  said.reason = sentence(in, reason_bytes_max);
  for (auto left = in.get<std::size_t>(); left > 0; --left) {
    const auto at = said.answers.find(in.get_text());
    if (at == said.answers.end()) throw MalformedMessage("an answer to no exercise");
    Answer& answer = at->second;
    answer.state = in.get<Answer::State>();
    if (answer.state > Answer::State::refused) throw MalformedMessage("an answer of no kind");
    answer.content = in.get_text(limits.file_bytes);
    if (answer.state != Answer::State::handed_in && !answer.content.empty()) {
      throw MalformedMessage("the content of an answer that was not handed in");
    }
    answer.cause = sentence(in, cause_bytes_max);
    answer.reason = sentence(in, reason_bytes_max);
  }
  if (!in.done()) throw MalformedMessage("bytes are left over");
  submission = std::move(said);
}

}  // namespace lockstep::grader
