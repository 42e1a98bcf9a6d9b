#include "engine/checkpoint/file_storage.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/standard_errors.hpp"
#include "engine/checkpoint/file.hpp"

namespace lockstep::checkpoint {
namespace {

namespace fs = std::filesystem;

// std::filesystem says in its own words what failed; this says it in ours.
template <typename Act>
auto with_disk(const Act& act) {
  try {
    return act();
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(text("checkpoint: ", told_of_file(error)));
  }
}

}  // namespace

void FileStorage::make(const std::string& folder) {
  with_disk([&] {
    std::vector<fs::path> changed;  // each gets the name of a new one
    for (fs::path at = fs::absolute(path_of(folder)); !fs::exists(at); at = at.parent_path()) {
      changed.push_back(at.parent_path());
    }
    fs::create_directories(path_of(folder));
    for (const fs::path& parent : changed) sync_folder(parent);
  });
}

void FileStorage::write(const std::string& file, std::uint64_t offset,
                        std::span<const std::byte> bytes) {
  const OpenFile opened(path_of(file), O_WRONLY | O_CREAT);
  opened.write(offset, bytes);
}

void FileStorage::sync(const std::string& name) {
  const fs::path path = path_of(name);
  std::error_code unseen;
  if (fs::is_directory(path, unseen)) return sync_folder(path);
  OpenFile(path, O_WRONLY).sync();
}

void FileStorage::rename(const std::string& file, const std::string& to) {
  with_disk([&] { fs::rename(path_of(file), path_of(to)); });
}

std::vector<Stored> FileStorage::list(const std::string& folder) const {
  return with_disk([&] {
    std::vector<Stored> names;
    if (!fs::is_directory(path_of(folder))) return names;
    for (const auto& entry : fs::directory_iterator(path_of(folder))) {
      // A link that leads nowhere, or to itself, is listed, too: its name is taken.
      std::error_code failed;
      Stored one{entry.path().filename().string(), StoredKind::other, 0, entry.is_symlink(failed)};
      const fs::file_status status = entry.status(failed);
      // Another rank may have removed it meanwhile, as it does with what it tries the disk with.
      if (!one.is_link && status.type() == fs::file_type::not_found) continue;
      if (!one.is_link && failed) throw fs::filesystem_error("status", entry.path(), failed);
      if (fs::is_directory(status)) one.kind = StoredKind::folder;
      if (fs::is_regular_file(status)) {
        one.kind = StoredKind::file;
        one.bytes = entry.file_size(failed);
        if (failed == std::errc::no_such_file_or_directory) continue;
        if (failed) throw fs::filesystem_error("size", entry.path(), failed);
      }
      names.push_back(std::move(one));
    }
    std::ranges::sort(names, {}, &Stored::name);
    return names;
  });
}

void FileStorage::read(const std::string& file, std::uint64_t offset,
                       std::span<std::byte> into) const {
  OldFile(path_of(file)).read(offset, into);
}

void FileStorage::remove(const std::string& name) {
  with_disk([&] { fs::remove(path_of(name)); });
}

}  // namespace lockstep::checkpoint
