#include "engine/checkpoint/memory_storage.hpp"

#include <algorithm>
#include <sstream>

#include "engine/base/random.hpp"

namespace lockstep::checkpoint {
namespace {

std::vector<std::string> steps_of(const std::string& name) {
  std::istringstream words(name);
  std::vector<std::string> steps;
  for (std::string step; std::getline(words, step, '/');) steps.push_back(step);
  return steps;
}

std::string last_of(const std::string& name) { return name.substr(name.rfind('/') + 1); }

// The file that the disk has when the power fails: `old`, with some of the pages by which `now`
// differs from it, and the new length or the old one.
Bytes torn(const Bytes& old, const Bytes& now, std::uint64_t seed) {
  Bytes left = old;
  left.resize(now.size());
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> pages;  // those that differ: begin, end
  for (std::ptrdiff_t at = 0; at < std::ssize(now); at += MemoryStorage::page_bytes) {
    const auto end = std::min(at + MemoryStorage::page_bytes, std::ssize(now));
    const bool same =
        std::equal(now.begin() + at, now.begin() + end, left.begin() + at, left.begin() + end);
    if (!same) pages.emplace_back(at, end);
  }
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const bool is_lost = i == random_bits(seed, 0) % pages.size() || random_bits(seed, 2 + i) % 2;
    const auto [at, end] = pages[i];
    if (!is_lost) std::copy(now.begin() + at, now.begin() + end, left.begin() + at);
  }
  if (random_bits(seed, 1) % 2 == 0) left.resize(old.size());
  return left;
}

}  // namespace

void MemoryStorage::make(const std::string& folder) {
  const std::scoped_lock lock(mutex_);
  count(folder);
  Node* node = root_.get();
  for (const std::string& step : steps_of(folder)) {
    auto& there = node->names[step];
    if (!there) there = std::make_shared<Node>();
    node = there.get();
  }
}

void MemoryStorage::write(const std::string& file, std::uint64_t offset,
                          std::span<const std::byte> bytes) {
  const std::scoped_lock lock(mutex_);
  const bool ends_here = calls_ == last_;
  if (ends_here) bytes = bytes.first(bytes.size() / 2);
  if (!ends_here) count(file);
  auto& there = at(folder_of(file), StoredKind::folder).names[last_of(file)];
  if (!there) there = std::make_shared<Node>(Node{.kind = StoredKind::file});
  there->bytes.resize(std::max<std::size_t>(there->bytes.size(), offset + bytes.size()));
  std::ranges::copy(bytes, there->bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  if (ends_here) count(file);
}

void MemoryStorage::sync(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  count(name);
  Node* const node = find(name);
  if (node == nullptr) throw CheckpointError(told(name) + " is not there, and cannot be synced");
  node->synced_bytes = node->bytes;
  node->synced_names = node->names;
}

void MemoryStorage::rename(const std::string& file, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  count(file);
  at(file, StoredKind::file);
  auto& from = at(folder_of(file), StoredKind::folder).names;
  const auto moved = from.find(last_of(file));
  at(folder_of(to), StoredKind::folder).names[last_of(to)] = moved->second;
  from.erase(moved);
}

std::vector<Stored> MemoryStorage::list(const std::string& folder) const {
  const std::scoped_lock lock(mutex_);
  count(folder);
  const Node* node = find(folder);
  std::vector<Stored> names;
  if (node == nullptr) return names;
  for (const auto& [name, there] : node->names) {
    names.push_back({name, there->kind, there->bytes.size()});
  }
  return names;
}

void MemoryStorage::read(const std::string& file, std::uint64_t offset,
                         std::span<std::byte> into) const {
  const std::scoped_lock lock(mutex_);
  count(file);
  const Bytes& bytes = at(file, StoredKind::file).bytes;
  if (offset > bytes.size() || into.size() > bytes.size() - offset) {
    throw CheckpointError(text(told(file), " ends at byte ", bytes.size(), ", where ", into.size(),
                               " were expected from byte ", offset, " on"));
  }
  std::ranges::copy(std::span(bytes).subspan(offset, into.size()), into.begin());
  read_ += static_cast<std::int64_t>(into.size());
}

void MemoryStorage::remove(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  count(name);
  const Node* node = find(name);
  if (node == nullptr || !node->names.empty()) {
    throw CheckpointError(
        text(told(name), node == nullptr ? " is not there" : " is a folder with something in it"));
  }
  at(folder_of(name), StoredKind::folder).names.erase(last_of(name));
}

void MemoryStorage::stop_after(std::int64_t calls) {
  const std::scoped_lock lock(mutex_);
  last_ = calls_ + calls;
}

void MemoryStorage::start_again() {
  const std::scoped_lock lock(mutex_);
  last_ = -1;
}

void MemoryStorage::start_again(PowerCut of, std::uint64_t seed) {
  start_again();
  const std::scoped_lock lock(mutex_);
  cut(*root_, of, seed);
}

std::int64_t MemoryStorage::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

std::int64_t MemoryStorage::bytes_read() const {
  const std::scoped_lock lock(mutex_);
  return read_;
}

void MemoryStorage::count(const std::string& name) const {
  if (calls_++ < last_ || last_ < 0) return;
  throw CheckpointError(text(told(name), ": the storage has stopped, as it was told to"));
}

MemoryStorage::Node* MemoryStorage::find(const std::string& name) const {
  Node* node = root_.get();
  for (const std::string& step : steps_of(name)) {
    const auto there = node->names.find(step);
    if (there == node->names.end()) return nullptr;
    node = there->second.get();
  }
  return node;
}

MemoryStorage::Node& MemoryStorage::at(const std::string& name, StoredKind kind) const {
  Node* const node = find(name);
  if (node == nullptr || node->kind != kind) {
    throw CheckpointError(
        text(told(name), kind == StoredKind::file ? ": no such file" : ": no such folder"));
  }
  return *node;
}

void MemoryStorage::cut(Node& node, PowerCut of, std::uint64_t seed) {
  node.bytes = torn(node.synced_bytes, node.bytes, seed);
  node.synced_bytes = node.bytes;
  if (of == PowerCut::loses_names_and_bytes) node.names = node.synced_names;
  for (const auto& [name, there] : node.names) {
    cut(*there, of, seed ^ checksum_of(std::as_bytes(std::span(name))));
  }
}

}  // namespace lockstep::checkpoint
