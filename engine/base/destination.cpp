#include "engine/base/destination.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& option, const fs::path& what, const std::string& why) {
  throw UsageError(text(option, ": ", what.string(), " ", why));
}

// The kind of thing that a path leads to. Nothing at all is fine; a name that is too long, or a
// link that leads to itself, is not.
fs::file_status status_of(const std::string& option, const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none || status.type() == fs::file_type::unknown) {
    const bool loop = error == std::errc::too_many_symbolic_link_levels;
    const std::string why = loop ? "its links lead in a circle" : error.message();
    refuse(option, path, text("cannot be looked at (", why, "); name another place"));
  }
  return status;
}

// A folder that was removed while somebody was in it can still be looked at, as ".".
void check_current_folder(const std::string& option, const fs::path& path) {
  std::error_code gone;
  const fs::path here = fs::current_path(gone);
  if (!here.empty() || path.is_absolute()) return;
  refuse(option, path, "would lie in the current folder, which is gone; cd to another one");
}

// Makes a file in the folder and takes it away: rights alone say nothing of a file system that is
// mounted to be read, full, or no place for files.
void check_folder(const std::string& option, const fs::path& folder) {
  std::string name = (folder / ".lockstep-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) {
    refuse(option, folder,
           text("is a folder in which no file can be made (", std::strerror(errno),
                "); name another place"));
  }
  ::close(file);
  ::unlink(name.c_str());
}

// The folder itself, or the nearest one above it that is there.
fs::path nearest_there(const std::string& option, const fs::path& folder) {
  check_current_folder(option, folder);
  fs::path at = fs::absolute(folder);
  while (at.has_relative_path() && status_of(option, at).type() == fs::file_type::not_found) {
    const std::string end = end_of_links(at).string();
    if (end != at) refuse(option, at, text("is a link to nothing; make ", end, " first"));
    at = at.parent_path();
  }
  return at;
}

}  // namespace

fs::path end_of_links(fs::path path) {
  std::error_code unseen;
  for (int links = 0; links < 40 && fs::is_symlink(path, unseen); ++links) {
    path = path.parent_path() / fs::read_symlink(path, unseen);
  }
  return path;
}

void check_destination(const std::string& option, const fs::path& file) {
  if (file.empty()) throw UsageError(option + " is empty; name a file");
  check_current_folder(option, file);
  if (const fs::path end = end_of_links(file); end != file && !fs::is_symlink(end)) {
    return check_destination(text(option, ": ", file.string(), " is a link"), end);
  }
  const fs::path folder = (fs::path(".") / file).parent_path();
  const fs::path shown = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const fs::file_status of_folder = status_of(option, folder);
  if (of_folder.type() == fs::file_type::not_found) {
    throw UsageError(text(option, ": the folder ", shown.string(),
                          " does not exist; make it (mkdir -p ", shown.string(),
                          ") or name another"));
  }
  if (fs::exists(of_folder) && !fs::is_directory(of_folder)) {
    refuse(option, shown, "is no folder, so nothing can be put into it; name another");
  }
  const fs::file_status there = status_of(option, file);
  if (there.type() == fs::file_type::directory || !file.has_filename()) {
    refuse(option, file, "is a folder; name a file in it");
  }
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    refuse(option, file, "is no regular file, and would be replaced by one; name another");
  }
  check_folder(option, shown);
  if (fs::exists(there) && ::access(file.c_str(), W_OK) != 0) {
    refuse(option, file, text("cannot be written (", std::strerror(errno), "); name another file"));
  }
}

void check_folder_destination(const std::string& option, const fs::path& folder) {
  const fs::path there = nearest_there(option, folder);
  std::error_code unseen;
  if (!fs::is_directory(there, unseen)) {
    refuse(option, there, "is no folder, so nothing can be put into it; name another");
  }
  check_folder(option, there);
}

}  // namespace lockstep
