// Files that are whole or not there. What is written goes to a temporary file beside the target;
// only when all of it is on the disk does one rename put it in the target's place. A reader sees
// the old file or the new one, and after a crash the disk has one of them. A target that is a link
// stays one: what it leads to is replaced.
//
// Requires one writer at a time for one target.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {

class NewFile {
 public:
  // Opens the temporary file `target`.tmp; one that an earlier crash left is overwritten.
  //   Throws  CheckpointError, as every function here
  explicit NewFile(std::filesystem::path target);
  ~NewFile();  // without commit: removes the temporary file, the target is as it was
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // The temporary file: beside what the links of `target` lead to. It may be no link itself.
  static std::filesystem::path temporary_of(const std::filesystem::path& target);

  void write(std::span<const std::byte> bytes);
  void write(const std::string& text) { write(std::as_bytes(std::span(text))); }
  // Bytes to the disk, the name to the target, the name to the disk.
  void commit();

 private:
  [[noreturn]] void fail(const char* what);
  std::filesystem::path target_, temporary_;
  int fd_;
};

// A file that is open to be written at places.
class OpenFile {
 public:
  //   flags  of open(2)
  OpenFile(std::filesystem::path path, int flags);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) const;
  void sync() const;

 private:
  std::filesystem::path path_;
  int fd_;
};

// A file that is read at places. Its size is that of the moment it was opened.
class OldFile {
 public:
  explicit OldFile(std::filesystem::path path);
  ~OldFile();
  OldFile(const OldFile&) = delete;
  OldFile& operator=(const OldFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  // Fills `into` from byte `offset` on.
  //   Throws  CheckpointError when the file ends before that
  void read(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  int fd_;
};

// Makes the names in a folder outlive a crash (fsync).
void sync_folder(const std::filesystem::path& folder);

}  // namespace lockstep::checkpoint
