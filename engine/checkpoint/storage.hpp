// The storage of checkpoints: files in folders, under names with slashes, such as
// "step_000500/index.json"; "" is the outermost folder. Whoever saves and loads knows no more of a
// medium than these calls. Each of them may fail, and a program may end between any two of them.
//
// Invariants of every storage
//   1. A rename puts a file in the place of another at once: a reader finds the old one or the new.
//   2. What was written outlives the program. It outlives the machine, whose power may fail, once
//      it is synced: of a file the bytes, of a folder the names in it.
//   3. Programs that write different files do not disturb each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::checkpoint {

// A file or folder that cannot be read or written, or does not hold what it should. what() names
// the file, what was expected and what was seen.
struct CheckpointError : Error {
  using Error::Error;
};

// A file of a newer version of this program. Nothing is wrong with it, and nobody may remove it.
struct NewerFormat : CheckpointError {
  using CheckpointError::CheckpointError;
};

// other: what can be removed and nothing else, such as a pipe, or a link that leads nowhere.
enum class StoredKind : std::uint8_t { file, folder, other };

// One name in a folder.
struct Stored {
  std::string name;  // without the folder's
  StoredKind kind;
  std::uint64_t bytes;   // of a file
  bool is_link = false;  // kind and bytes are then those of what the link leads to
};

// Every call throws CheckpointError when it fails.
class Storage {
 public:
  virtual ~Storage() = default;
  // The name for a person: "runs/a/step_000500/index.json".
  virtual std::string told(const std::string& name) const = 0;

  // Makes a folder and those above it that are missing.
  virtual void make(const std::string& folder) = 0;
  // Writes from byte `offset` on, and makes the file when it is not there.
  virtual void write(const std::string& file, std::uint64_t offset,
                     std::span<const std::byte> bytes) = 0;
  virtual void sync(const std::string& name) = 0;
  virtual void rename(const std::string& file, const std::string& to) = 0;
  // The names in a folder, in order; none when the folder is not there.
  virtual std::vector<Stored> list(const std::string& folder) const = 0;
  // Fills `into` from byte `offset` on; fails when the file ends before that.
  virtual void read(const std::string& file, std::uint64_t offset,
                    std::span<std::byte> into) const = 0;
  // A file, or a folder with nothing in it. Of a link, the link, and never what it leads to.
  virtual void remove(const std::string& name) = 0;
};

// Reads a file of text.
//   Throws  CheckpointError when it has more than `bytes_max`
std::string read_text(const Storage& storage, const std::string& file, std::uint64_t bytes_max);
// True if the folder of this name has it.
bool is_there(const Storage& storage, const std::string& name);
// A folder with all that is in it, as rm -r: of links, the links.
void remove_all(Storage& storage, const std::string& folder);

// "step_000500" and "index.json": "step_000500/index.json".
std::string within(const std::string& folder, const std::string& name);
std::string folder_of(const std::string& name);  // "" of one without a slash

}  // namespace lockstep::checkpoint
