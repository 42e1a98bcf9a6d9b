// Storage in memory that notes the calls by which it is changed, and ends after so many of them, as
// a program does that is killed.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/checkpoint/memory_storage.hpp"

namespace lockstep::checkpoint {

class Noted final : public Storage {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  // Notes from here on.
  void end_after(std::int64_t calls) {
    last_ = calls;
    calls_.clear();
  }
  const std::vector<std::string>& calls() const { return calls_; }
  MemoryStorage& memory() { return memory_; }

  std::string told(const std::string& name) const override { return memory_.told(name); }
  void make(const std::string& folder) override {
    note("make    " + named(folder));
    memory_.make(folder);
  }
  void write(const std::string& file, std::uint64_t offset,
             std::span<const std::byte> bytes) override {
    note("write   " + file);
    memory_.write(file, offset, bytes);
  }
  void sync(const std::string& name) override {
    note("sync    " + named(name));
    memory_.sync(name);
  }
  void rename(const std::string& file, const std::string& to) override {
    note("rename  " + file);
    memory_.rename(file, to);
  }
  std::vector<Stored> list(const std::string& folder) const override {
    return memory_.list(folder);
  }
  void read(const std::string& file, std::uint64_t offset,
            std::span<std::byte> into) const override {
    memory_.read(file, offset, into);
  }
  void remove(const std::string& name) override {
    note("remove  " + name);
    memory_.remove(name);
  }

 private:
  static std::string named(const std::string& name) {
    return name.empty() ? "the outermost folder" : name;
  }
  void note(const std::string& call) {
    if (std::ssize(calls_) >= last_) throw CheckpointError("the program has ended");
    calls_.push_back(call);
  }

  MemoryStorage memory_;
  std::int64_t last_ = never;
  std::vector<std::string> calls_;
};

}  // namespace lockstep::checkpoint
