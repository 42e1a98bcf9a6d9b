// The judge's side of play/served_storage.hpp: the files, a log of all calls, the end of a life.
// A case is several lives: the players of one end between two calls, as by a kill, and new players
// go on with the same files (lives.hpp).
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/checkpoint/memory_storage.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/play/served_storage.hpp"

namespace lockstep::grader {

// The time that calls take, one after the other, whoever makes them: it is one device.
struct StoragePrice {
  double call_s = 0;
  double byte_s = 0;
};

// One call as it was served, or refused.
struct StorageEvent {
  double at_s = 0, until_s = 0;
  sim::Actor who{};
  StorageCall::Kind kind = StorageCall::Kind::make;
  std::string name{}, to{};
  std::uint64_t offset = 0, bytes = 0;  // written or read
  int life = 0;
  bool refused = false;
};
bool changes(StorageCall::Kind kind);  // make, write, sync, rename, remove

// The end of a life, and what the storage refuses until then.
struct LifeEnd {
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  // So many calls are served. The next one ends the life; if it is a write, half of it is done.
  std::int64_t after_calls = never;
  // The power fails when the life is over, however it ended: what was not synced is lost.
  std::optional<checkpoint::PowerCut> power{};
  std::set<std::int64_t> refused{};  // calls, from 0, that fail
  // Once there were so many changes the disk is full: it refuses every other but to remove.
  std::int64_t full_after = never;
  bool full_once = false;          // only the first of these
  std::optional<int> full_rank{};  // only the changes of this rank count, and are refused
  // If set, a refusal says a number of this key: whoever brings it back has the exception.
  std::optional<std::uint64_t> tokens{};
};

class StorageService final : public TypedService<StorageCall> {
 public:
  explicit StorageService(StoragePrice price = {}) : price_(price) {}

  // The next life begins, after what the last one's end has done to the files. Its clock is new.
  void begin(LifeEnd end);
  // Called behind each call that was served, and may change the files.
  void watch(std::function<void(const StorageEvent&)> watcher) { watcher_ = std::move(watcher); }

  const std::vector<StorageEvent>& log() const { return log_; }  // of all lives
  std::vector<StorageEvent> log_of(int life) const;              // from 0
  std::int64_t calls() const { return calls_; }                  // of this life
  bool has_ended() const { return ended_; }                      // this life, by its LifeEnd
  const std::string& refusal() const { return refusal_; }        // the first of a life, in words
  checkpoint::MemoryStorage& files() { return files_; }

 private:
  std::optional<Answer> answer(const sim::Actor& who, StorageCall call, double now) override;
  void count(const StorageCall& call);
  std::string token() const;
  std::uint64_t size_of(const std::string& file) const;
  bool refuses(int rank, const StorageCall& call);
  [[noreturn]] void end_here(StorageCall& call);
  StorageAnswer serve_now(const StorageCall& call);

  StoragePrice price_;
  checkpoint::MemoryStorage files_;
  LifeEnd end_{};
  std::function<void(const StorageEvent&)> watcher_{};
  std::vector<StorageEvent> log_;
  std::int64_t calls_ = 0, changes_ = 0;  // of this life
  std::uint64_t bytes_ = 0;               // of all calls, so that no player goes on for ever
  double busy_until_s_ = 0;
  int life_ = -1;
  bool ended_ = false;
  std::string refusal_ = "none";
};

}  // namespace lockstep::grader
