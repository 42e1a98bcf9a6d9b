// Storage that stays with the judge: every call is a request, so the judge knows who wrote and
// read what, and when, and what is left when the case ends between two calls.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "engine/base/fields.hpp"
#include "engine/checkpoint/storage.hpp"
#include "grader/play/ask.hpp"

namespace lockstep::grader {

inline constexpr std::size_t stored_name_max = 200;              // characters
inline constexpr std::uint64_t stored_call_bytes_max = 1 << 20;  // of one write or read

// One call of a storage, answered with a StorageAnswer.
struct StorageCall {
  static constexpr const char* service = "storage";
  enum class Kind : std::uint8_t { make, write, sync, rename, list, read, remove };
  Kind kind = Kind::make;
  std::string name{}, to{};             // to: of rename
  std::uint64_t offset = 0, count = 0;  // write, read; count: the bytes that a read asks for
  Bytes bytes{};                        // write
};

struct StorageAnswer {
  std::string refused{};             // why the storage refused; empty: it did not
  Bytes bytes{};                     // read
  std::vector<std::string> names{};  // list: of each its name, its kind and its bytes
  std::vector<checkpoint::StoredKind> kinds{};
  std::vector<std::uint64_t> sizes{};
};

template <typename Archive>
void fields(Archive& archive, StorageCall& call) {
  archive(call.kind, call.name, call.to, call.offset, call.count, call.bytes);
}
template <typename Archive>
void fields(Archive& archive, StorageAnswer& answer) {
  archive(answer.refused, answer.bytes, answer.names, answer.kinds, answer.sizes);
}

// A name of a storage: steps with slashes between them, of printable characters, none of them ".."
// or empty; "" is the outermost folder.
inline bool is_stored_name(const std::string& name) {
  if (name.empty()) return true;
  if (name.size() > stored_name_max || name.front() == '/' || name.back() == '/') return false;
  if (name.find("//") != std::string::npos) return false;
  if (("/" + name + "/").find("/../") != std::string::npos) return false;
  return std::ranges::all_of(name, [](char c) { return c > ' ' && c < 127; });
}
inline void check_fields(StorageCall& call) {
  if (call.kind > StorageCall::Kind::remove) throw MalformedMessage("no call of a storage");
  if (!is_stored_name(call.name) || !is_stored_name(call.to)) {
    throw Error("a storage has names such as step_000005/index.json, of 200 characters at most");
  }
  if (call.count > stored_call_bytes_max || call.bytes.size() > stored_call_bytes_max) {
    throw Error(text("one call reads or writes ", stored_call_bytes_max, " bytes at most"));
  }
}

// A refusal in the player is of the storage, or of something else that a save comes upon.
enum class Refusal : std::uint8_t { checkpoint_error, foreign };

// The player's end. A refusal of the storage is a CheckpointError, if not asked otherwise; what the
// judge itself refuses stays an Error, so that no part can take it for a full disk.
//   Thread  any strand of the rank
class ServedStorage final : public checkpoint::Storage {
 public:
  explicit ServedStorage(sim::Port& port, Refusal refusal = Refusal::checkpoint_error)
      : port_(port), refusal_(refusal) {}

  std::string told(const std::string& name) const override { return "storage:" + name; }
  void make(const std::string& folder) override { call({StorageCall::Kind::make, folder}); }
  void write(const std::string& file, std::uint64_t offset,
             std::span<const std::byte> bytes) override {
    // A large write is several calls, as of a file system.
    do {
      const auto some = std::min<std::size_t>(bytes.size(), stored_call_bytes_max);
      StorageCall one{StorageCall::Kind::write, file};
      one.offset = offset;
      one.bytes.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(some));
      call(one);
      offset += some;
      bytes = bytes.subspan(some);
    } while (!bytes.empty());
  }
  void sync(const std::string& name) override { call({StorageCall::Kind::sync, name}); }
  void rename(const std::string& file, const std::string& to) override {
    call({StorageCall::Kind::rename, file, to});
  }
  std::vector<checkpoint::Stored> list(const std::string& folder) const override {
    const StorageAnswer answer = call({StorageCall::Kind::list, folder});
    std::vector<checkpoint::Stored> names;
    for (std::size_t i = 0; i < answer.names.size(); ++i) {
      names.push_back({answer.names[i], answer.kinds.at(i), answer.sizes.at(i)});
    }
    return names;
  }
  void read(const std::string& file, std::uint64_t offset,
            std::span<std::byte> into) const override {
    while (!into.empty()) {
      const auto some = std::min<std::size_t>(into.size(), stored_call_bytes_max);
      StorageCall one{StorageCall::Kind::read, file};
      one.offset = offset;
      one.count = some;
      const StorageAnswer answer = call(one);
      if (answer.bytes.size() != some) throw Error("the judge's storage answered too little");
      std::ranges::copy(answer.bytes, into.begin());
      offset += some;
      into = into.subspan(some);
    }
  }
  void remove(const std::string& name) override { call({StorageCall::Kind::remove, name}); }

 private:
  StorageAnswer call(const StorageCall& one) const {
    StorageAnswer answer = ask<StorageAnswer>(port_, one);
    if (answer.refused.empty()) return answer;
    if (refusal_ == Refusal::foreign)
      throw std::runtime_error(
          text("a std::runtime_error, from below the storage: ", answer.refused));
    throw checkpoint::CheckpointError(answer.refused);
  }

  sim::Port& port_;
  Refusal refusal_;
};

}  // namespace lockstep::grader
