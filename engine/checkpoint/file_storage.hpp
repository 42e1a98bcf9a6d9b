// A folder of the file system as storage. Names outlive a crash when their folder is synced (fsync
// of the folder); the folder itself does from the moment it is made.
#pragma once

#include <filesystem>

#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {

class FileStorage : public Storage {
 public:
  // The folder need not be there: make("") makes it.
  explicit FileStorage(std::filesystem::path root) : root_(std::move(root)) {}

  std::string told(const std::string& name) const override { return path_of(name).string(); }
  void make(const std::string& folder) override;
  void write(const std::string& file, std::uint64_t offset,
             std::span<const std::byte> bytes) override;
  void sync(const std::string& name) override;
  void rename(const std::string& file, const std::string& to) override;
  std::vector<Stored> list(const std::string& folder) const override;
  void read(const std::string& file, std::uint64_t offset,
            std::span<std::byte> into) const override;
  void remove(const std::string& name) override;

 private:
  std::filesystem::path path_of(const std::string& name) const {
    return name.empty() ? root_ : root_ / name;
  }
  std::filesystem::path root_;
};

}  // namespace lockstep::checkpoint
