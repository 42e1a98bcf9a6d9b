// Archives of any members, also of those that no archiver would write.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <string>
#include <vector>

#include "grader/batch/hand_ins/submission.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"

namespace lockstep::test {

struct Member {
  std::string name, content;
  int type = AE_IFREG;
  std::string link = {};
};

// A zip or a tar.gz, by its ending.
inline void write_archive(const std::filesystem::path& file, const std::vector<Member>& members) {
  archive* writer = archive_write_new();
  if (grader::lower_case(file.extension()) == ".zip") {
    archive_write_set_format_zip(writer);
  } else {
    archive_write_set_format_pax_restricted(writer);
    archive_write_add_filter_gzip(writer);
  }
  REQUIRE(archive_write_open_filename(writer, file.c_str()) == ARCHIVE_OK);
  for (const Member& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_update_pathname_utf8(entry, member.name.c_str());
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, static_cast<unsigned>(member.type));
    archive_entry_set_perm(entry, 0644);
    if (!member.link.empty()) archive_entry_set_symlink(entry, member.link.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
    REQUIRE(archive_write_header(writer, entry) >= ARCHIVE_WARN);  // of letters it cannot convert
    archive_write_data(writer, member.content.data(), member.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

// The same members as files and links below a folder.
inline void write_folder(const std::filesystem::path& folder, const std::vector<Member>& members) {
  std::filesystem::create_directories(folder);
  for (const Member& member : members) {
    const std::filesystem::path path = folder / member.name;
    std::filesystem::create_directories(path.parent_path());
    if (member.type == AE_IFLNK) {
      std::filesystem::create_symlink(member.link, path);
    } else {
      grader::write_text(path, member.content);
    }
  }
}

}  // namespace lockstep::test
