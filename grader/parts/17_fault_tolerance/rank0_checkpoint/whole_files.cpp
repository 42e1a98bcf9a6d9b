#include "grader/parts/17_fault_tolerance/rank0_checkpoint/whole_files.hpp"

#include <algorithm>
#include <optional>

#include "engine/base/units.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/parts/17_fault_tolerance/rank0_checkpoint/case.hpp"

namespace lockstep::grader::rank0_checkpoint {
namespace {

constexpr const char* folder = "run";
constexpr const char* file = "run/index.json";
constexpr const char* temporary = "run/index.json.tmp";
constexpr char tail = 'x';  // of a temporary file that was left, which is long

enum class CallEnd : std::uint8_t { returned, cut_off };

// The folder as an earlier call has left it: with the older file, and a temporary one.
void prepare(checkpoint::MemoryStorage& files, const WholeFile& p) {
  const auto put = [&](const char* name, const std::string& content) {
    files.write(name, 0, std::as_bytes(std::span(content)));
    files.sync(name);
  };
  files.make(folder);
  files.sync("");
  if (!p.old.empty()) put(file, p.old);
  put(temporary, std::string(4096, tail));
  files.sync(folder);
}

std::optional<std::string> content_of(const checkpoint::MemoryStorage& files) {
  for (const checkpoint::Stored& one : files.list(folder)) {
    if (checkpoint::within(folder, one.name) != file) continue;
    std::string content(static_cast<std::size_t>(one.bytes), '\0');
    files.read(file, 0, std::as_writable_bytes(std::span(content)));
    return content;
  }
  return std::nullopt;
}

std::string told(const WholeFile& p, const std::optional<std::string>& left) {
  if (!left) return "it is not there";
  if (left->empty()) return "it is empty";
  if (*left == p.old) return "it is the older one";
  if (p.now.starts_with(*left)) {
    return text("it has ", left->size(), " of ", counted(std::ssize(p.now), "byte"));
  }
  if (left->starts_with(p.now)) {
    return text("behind its ", counted(std::ssize(p.now), "byte"), " it has ",
                left->size() - p.now.size(), " of another file");
  }
  return "it is neither the older one nor the new one";
}

Cause cause_of(const WholeFile& p, const std::optional<std::string>& left) {
  if (left && left->starts_with(p.now) && left->ends_with(tail)) {
    return {"old_tail",
            "a save that ended early has left a longer temporary file, and a write replaces only "
            "the bytes that it covers: remove it first"};
  }
  if (p.end.power) {
    return {"bytes_lost",
            "what is not synced is lost with the power: sync the temporary file when it is "
            "written, then rename it, then sync the folder that it lies in"};
  }
  if (!left && !p.old.empty()) {
    return {"removed_first",
            "for a moment neither file is there: a rename puts the new one in the place of the "
            "older one at once, so nothing has to be removed"};
  }
  return {"half_a_file",
          "readers look here while it is written: write beside it, under its name with .tmp, and "
          "rename that"};
}

// A name that no later call would clear away.
std::optional<std::string> stray(const checkpoint::MemoryStorage& files) {
  for (const checkpoint::Stored& one : files.list(folder)) {
    const std::string name = checkpoint::within(folder, one.name);
    if (name != file && name != temporary) return name;
  }
  return std::nullopt;
}

void check_left(CaseRunner& runner, const Played& played, const WholeFile& p,
                const checkpoint::MemoryStorage& files, CallEnd end) {
  const bool returned = end == CallEnd::returned;
  const auto left = content_of(files);
  const bool is_old = p.old.empty() ? !left : left == p.old;
  if (left != p.now && (returned || !is_old)) {
    runner.fail(played,
                because(cause_of(p, left),
                        {.message = text(file,
                                         returned ? ", after the call has returned: "
                                                  : ", after the call was cut off: ",
                                         told(p, left)),
                         .expected = returned ? "the new file" : "the older file or the new one",
                         .seen = told(p, left)}));
  }
  if (const auto name = stray(files)) {
    runner.fail(played, because({"stray_file",
                                 "the one file that may be left, by a call that was cut off, is "
                                 "that with .tmp behind its name, which the next call overwrites"},
                                {.message = text(*name, " is left beside ", file)}));
  }
}

bool any_refused(const StorageService& storage) {
  return std::ranges::any_of(storage.log(), &StorageEvent::refused);
}

// A call that was not cut off returns, or tells what the storage refused.
CallEnd end_of(CaseRunner& runner, const Played& played, const StorageService& storage) {
  if (storage.has_ended()) return CallEnd::cut_off;
  const auto ending = read_fields<Ending>(played.results->of(0));
  if (ending.kind == Ending::Kind::threw_other ||
      (ending.kind == Ending::Kind::threw_expected && !any_refused(storage))) {
    runner.fail(played, {.cause = "wrong_error",
                         .message = text("write_whole threw ", thrown_text(ending),
                                         any_refused(storage)
                                             ? ", where the CheckpointError of the storage was "
                                               "expected"
                                             : ", though the storage refused nothing"),
                         .thrown_at = ending.thrown_at});
  }
  if (ending.kind == Ending::Kind::returned && any_refused(storage)) {
    runner.fail(played,
                because({"refusal_lost",
                         "whoever saves has to know that it failed: let the CheckpointError of the "
                         "storage leave the function"},
                        {.message = "the storage refused a call, and write_whole returned"}));
  }
  return ending.kind == Ending::Kind::returned ? CallEnd::returned : CallEnd::cut_off;
}

}  // namespace

void judge(CaseRunner& runner, const WholeFile& p) {
  StorageService storage;
  prepare(storage.files(), p);
  Rank0Case c{.file = file, .content = p.now};
  const Life life{"writes", {fields_to_bytes(c)}, p.end};
  CaseSetup common;
  common.description = text(counted(std::ssize(p.now), "byte"), " in the place of ", p.old.size(),
                            p.what.empty() ? "" : ", ", p.what);
  const auto played = play_lives(runner, common, storage, std::span(&life, 1));
  if (!played) return;
  const CallEnd end = end_of(runner, *played, storage);
  storage.begin({});  // the power, if it is to fail, has failed
  check_left(runner, *played, p, storage.files(), end);
}

}  // namespace lockstep::grader::rank0_checkpoint
