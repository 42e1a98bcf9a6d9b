// Archives by libarchive. Members have no time: libarchive then writes the earliest a zip can say,
// in every time zone.
#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "engine/base/error.hpp"
#include "grader/further/submit.hpp"

namespace lockstep::grader {
namespace {

struct Freed {
  void operator()(archive* writer) const { archive_write_free(writer); }
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

}  // namespace

void write_zip(const std::filesystem::path& file, const std::vector<Member>& members) {
  const std::unique_ptr<archive, Freed> writer(archive_write_new());
  const auto must = [&](la_ssize_t state) {
    if (state < ARCHIVE_OK) {
      throw UsageError(text("cannot write ", file.string(), ": ",
                            archive_error_string(writer.get()),
                            "; pass a different file with --out"));
    }
  };
  must(archive_write_set_format_zip(writer.get()));
  must(archive_write_open_filename(writer.get(), file.c_str()));
  for (const Member& member : members) {
    const std::unique_ptr<archive_entry, Freed> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), member.path.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(member.content.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), static_cast<mode_t>(member.mode));
    must(archive_write_header(writer.get(), entry.get()));
    must(archive_write_data(writer.get(), member.content.data(), member.content.size()));
  }
  must(archive_write_close(writer.get()));
}

}  // namespace lockstep::grader
