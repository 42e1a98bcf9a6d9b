#include "engine/checkpoint/storage.hpp"

#include <algorithm>

namespace lockstep::checkpoint {

std::string read_text(const Storage& storage, const std::string& file, std::uint64_t bytes_max) {
  const std::string folder = folder_of(file);
  const auto names = storage.list(folder);
  const auto found = std::ranges::find_if(names, [&](const Stored& one) {
    return one.kind == StoredKind::file && within(folder, one.name) == file;
  });
  if (found == names.end()) throw CheckpointError(text(storage.told(file), " is not there"));
  if (found->bytes > bytes_max) {
    throw CheckpointError(text(storage.told(file), " has ", found->bytes, " bytes; ", bytes_max,
                               " at most are read"));
  }
  std::string content(static_cast<std::size_t>(found->bytes), '\0');
  storage.read(file, 0, std::as_writable_bytes(std::span(content)));
  return content;
}

bool is_there(const Storage& storage, const std::string& name) {
  const auto names = storage.list(folder_of(name));
  return std::ranges::any_of(
      names, [&](const Stored& one) { return within(folder_of(name), one.name) == name; });
}

void remove_all(Storage& storage, const std::string& folder) {
  for (const Stored& one : storage.list(folder)) {
    const std::string name = within(folder, one.name);
    if (one.kind == StoredKind::folder && !one.is_link) {
      remove_all(storage, name);
    } else {
      storage.remove(name);
    }
  }
  storage.remove(folder);
}

std::string within(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

}  // namespace lockstep::checkpoint
