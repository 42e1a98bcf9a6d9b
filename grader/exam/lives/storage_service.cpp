#include "grader/exam/lives/storage_service.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "grader/judge/keyed.hpp"

namespace lockstep::grader {
namespace {

constexpr std::uint64_t bytes_max = std::uint64_t{64} << 20;
constexpr std::int64_t calls_max = 5'000;  // of a life

std::uint64_t bytes_of_call(const StorageCall& call) {
  return call.kind == StorageCall::Kind::read ? call.count : call.bytes.size();
}

}  // namespace

bool changes(StorageCall::Kind kind) {
  return kind != StorageCall::Kind::list && kind != StorageCall::Kind::read;
}

void StorageService::begin(LifeEnd end) {
  if (life_ >= 0 && end_.power) files_.start_again(*end_.power);
  end_ = std::move(end);
  calls_ = changes_ = 0;
  busy_until_s_ = 0;
  ended_ = false;
  refusal_ = "none";
  ++life_;
}

std::vector<StorageEvent> StorageService::log_of(int life) const {
  std::vector<StorageEvent> all;
  std::ranges::copy_if(log_, std::back_inserter(all),
                       [&](const StorageEvent& one) { return one.life == life; });
  return all;
}

std::optional<sim::Service::Answer> StorageService::answer(const sim::Actor& who, StorageCall call,
                                                           double now) {
  count(call);
  if (calls_ == end_.after_calls) end_here(call);
  const StorageAnswer answer =
      refuses(who.rank, call)
          ? StorageAnswer{.refused = text("storage:", call.name, ": no space is left", token())}
          : serve_now(call);
  ++calls_;
  busy_until_s_ = std::max(now, busy_until_s_) + price_.call_s +
                  price_.byte_s * static_cast<double>(bytes_of_call(call));
  log_.push_back({.at_s = now,
                  .until_s = busy_until_s_,
                  .who = who,
                  .kind = call.kind,
                  .name = call.name,
                  .to = call.to,
                  .offset = call.offset,
                  .bytes = bytes_of_call(call),
                  .life = life_,
                  .refused = !answer.refused.empty()});
  if (log_.back().refused && refusal_ == "none") refusal_ = answer.refused;
  if (watcher_) watcher_(log_.back());
  return answer_with(answer, busy_until_s_);
}

// Names are bytes, too: what is hidden in them costs what it weighs. So are holes in a file.
void StorageService::count(const StorageCall& call) {
  if (calls_ >= calls_max) throw Error(text("more than ", calls_max, " calls of the storage"));
  if (call.offset > bytes_max) throw Error(text("no file of the case has a byte ", call.offset));
  bytes_ += bytes_of_call(call) + call.name.size() + call.to.size();
  if (call.kind == StorageCall::Kind::write) {
    bytes_ += call.offset - std::min(call.offset, size_of(call.name));
  }
  if (bytes_ > bytes_max) throw Error("more than 64 MiB went to the storage and back");
}

std::string StorageService::token() const {
  if (!end_.tokens) return "";
  return text(", error ", keyed_bits(*end_.tokens, static_cast<std::uint64_t>(calls_)));
}

std::uint64_t StorageService::size_of(const std::string& file) const {
  const std::string folder = checkpoint::folder_of(file);
  for (const checkpoint::Stored& one : files_.list(folder)) {
    if (checkpoint::within(folder, one.name) == file) return one.bytes;
  }
  return 0;
}

void StorageService::end_here(StorageCall& call) {
  if (call.kind == StorageCall::Kind::write) {
    call.bytes.resize(call.bytes.size() / 2);
    serve_now(call);
  }
  ended_ = true;
  throw sim::WorldEnds{"the case ended here, as by a kill of all ranks"};
}

bool StorageService::refuses(int rank, const StorageCall& call) {
  const bool fills = changes(call.kind) && call.kind != StorageCall::Kind::remove &&
                     rank == end_.full_rank.value_or(rank);
  const bool full = end_.full_once ? changes_ == end_.full_after : changes_ >= end_.full_after;
  const bool refused = end_.refused.contains(calls_) || (fills && full);
  if (fills) ++changes_;
  return refused;
}

StorageAnswer StorageService::serve_now(const StorageCall& call) {
  StorageAnswer answer;
  try {
    switch (call.kind) {
      case StorageCall::Kind::make:
        files_.make(call.name);
        break;
      case StorageCall::Kind::write:
        files_.write(call.name, call.offset, call.bytes);
        break;
      case StorageCall::Kind::sync:
        files_.sync(call.name);
        break;
      case StorageCall::Kind::rename:
        files_.rename(call.name, call.to);
        break;
      case StorageCall::Kind::remove:
        files_.remove(call.name);
        break;
      case StorageCall::Kind::read:
        answer.bytes.resize(call.count);
        files_.read(call.name, call.offset, answer.bytes);
        break;
      case StorageCall::Kind::list:
        for (const checkpoint::Stored& one : files_.list(call.name)) {
          answer.names.push_back(one.name);
          answer.kinds.push_back(one.kind);
          answer.sizes.push_back(one.bytes);
        }
        break;
    }
  } catch (const checkpoint::CheckpointError& error) {
    answer = {.refused = error.what()};
  }
  return answer;
}

}  // namespace lockstep::grader
