// Storage in memory. It can fail on purpose: end at any call, as a program does that is killed, and
// forget what was not synced, as a machine does whose power fails. So every moment at which a save
// can be interrupted can be tried, one by one.
//
// A disk keeps any of the pages that were written and not synced, in any order. So a power failure
// leaves a drawn subset of them, and never all; a page is small here, so that small files tear,
// too. What is lost of a file in front of its end, and was never on the disk, is zeros.
//
// Thread: from any; the mutex guards all there is.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "engine/base/bytes.hpp"
#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {

// The loss when the power fails: names and pages that were not synced; or pages alone, as on a file
// system that brought the names to the disk before the bytes.
enum class PowerCut : std::uint8_t { loses_names_and_bytes, loses_bytes };

class MemoryStorage final : public Storage {
 public:
  static constexpr std::ptrdiff_t page_bytes = 16;

  std::string told(const std::string& name) const override { return "memory:" + name; }
  void make(const std::string& folder) override;
  void write(const std::string& file, std::uint64_t offset,
             std::span<const std::byte> bytes) override;
  void sync(const std::string& name) override;
  void rename(const std::string& file, const std::string& to) override;
  std::vector<Stored> list(const std::string& folder) const override;
  void read(const std::string& file, std::uint64_t offset,
            std::span<std::byte> into) const override;
  void remove(const std::string& name) override;

  // From now on `calls` calls succeed. The next one fails, and all that follow. A write that fails
  // so has written the first half of its bytes.
  void stop_after(std::int64_t calls);
  // A new program finds what was written, or what a failing power has left of it.
  void start_again();
  // The seed draws the pages that were not lost.
  void start_again(PowerCut cut, std::uint64_t seed = 0);

  std::int64_t calls() const;       // so far
  std::int64_t bytes_read() const;  // so far

 private:
  struct Node {
    StoredKind kind = StoredKind::folder;
    Bytes bytes = {}, synced_bytes = {};
    std::map<std::string, std::shared_ptr<Node>> names = {}, synced_names = {};
  };
  void count(const std::string& name) const;
  Node& at(const std::string& name, StoredKind kind) const;
  Node* find(const std::string& name) const;
  static void cut(Node& node, PowerCut cut, std::uint64_t seed);

  mutable std::mutex mutex_;
  std::shared_ptr<Node> root_ = std::make_shared<Node>();
  mutable std::int64_t calls_ = 0, read_ = 0;
  std::int64_t last_ = -1;  // the calls that succeed; -1: all do
};

}  // namespace lockstep::checkpoint
