// One suite over every storage; and what the one in memory can do besides: stop, and forget.
#include "engine/checkpoint/storage.hpp"

#include <functional>
#include <set>
#include <stop_token>
#include <thread>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/memory_storage.hpp"
#include "engine/checkpoint/rank0_checkpoint.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"
#include "tests/checkpoint/small_run.hpp"

using namespace lockstep;
using checkpoint::CheckpointError;
using checkpoint::FileStorage;
using checkpoint::MemoryStorage;
using checkpoint::PowerCut;
using checkpoint::Stored;
using checkpoint::StoredKind;
using lockstep::test::contains;
using lockstep::test::Folder;

namespace {

void put_text(checkpoint::Storage& storage, const std::string& file, const std::string& content,
              std::uint64_t offset = 0) {
  storage.write(file, offset, std::as_bytes(std::span(content)));
}

std::string content_in(const checkpoint::Storage& storage, const std::string& file) {
  return checkpoint::read_text(storage, file, 1000);
}

std::vector<std::string> names_in(const checkpoint::Storage& storage, const std::string& folder) {
  std::vector<std::string> names;
  for (const Stored& one : storage.list(folder)) names.push_back(one.name);
  return names;
}

void on_each(const std::function<void(checkpoint::Storage&)>& act) {
  const Folder folder;
  FileStorage files(folder / "deep/er");
  files.make("");
  MemoryStorage memory;
  for (checkpoint::Storage* storage :
       {static_cast<checkpoint::Storage*>(&files), static_cast<checkpoint::Storage*>(&memory)}) {
    CAPTURE(storage->told("name"));
    act(*storage);
  }
}

// Reads a storage of which something goes away behind each list of a folder, once.
class Vanishing final : public checkpoint::Storage {
 public:
  Vanishing(MemoryStorage& files, std::string listed, std::function<void()> then)
      : files_(files), listed_(std::move(listed)), then_(std::move(then)) {}
  std::string told(const std::string& name) const override { return files_.told(name); }
  std::vector<Stored> list(const std::string& folder) const override {
    const auto names = files_.list(folder);
    if (folder == listed_ && then_) std::exchange(then_, nullptr)();
    return names;
  }
  void read(const std::string& file, std::uint64_t offset,
            std::span<std::byte> into) const override {
    files_.read(file, offset, into);
  }
  void make(const std::string&) override {}
  void write(const std::string&, std::uint64_t, std::span<const std::byte>) override {}
  void sync(const std::string&) override {}
  void rename(const std::string&, const std::string&) override {}
  void remove(const std::string&) override {}

 private:
  MemoryStorage& files_;
  std::string listed_;
  mutable std::function<void()> then_;
};

}  // namespace

TEST_CASE("storage: what was written is read, from any place") {
  on_each([](checkpoint::Storage& storage) {
    storage.make("a/b");
    storage.make("a/b");  // is there
    put_text(storage, "a/b/file", "0123456789");
    put_text(storage, "a/b/file", "xyz", 8);
    put_text(storage, "a/b/file", "-", 2);
    CHECK(content_in(storage, "a/b/file") == "01-34567xyz");
    std::string part(3, ' ');
    storage.read("a/b/file", 7, std::as_writable_bytes(std::span(part)));
    CHECK(part == "7xy");
    const auto stored = storage.list("a/b");
    REQUIRE(stored.size() == 1);
    CHECK(stored[0].bytes == 11);
    CHECK(storage.list("a").front().kind == StoredKind::folder);
    storage.sync("a/b/file");
    storage.sync("a/b");
    storage.sync("");
  });
}

TEST_CASE("storage: names are listed in order, renamed over others, and removed") {
  on_each([](checkpoint::Storage& storage) {
    storage.make("f");
    for (const char* name : {"f/b", "f/c", "f/a"}) put_text(storage, name, name);
    CHECK(names_in(storage, "f") == std::vector<std::string>{"a", "b", "c"});
    CHECK(storage.list("nowhere").empty());
    storage.rename("f/c", "f/a");
    CHECK(names_in(storage, "f") == std::vector<std::string>{"a", "b"});
    CHECK(content_in(storage, "f/a") == "f/c");
    CHECK_THROWS_AS(storage.remove("f"), CheckpointError);  // something is in it
    checkpoint::write_whole(storage, "f/a", "new");
    CHECK(content_in(storage, "f/a") == "new");
    checkpoint::remove_all(storage, "f");
    CHECK(names_in(storage, "").empty());
  });
}

TEST_CASE("storage: what cannot be done is refused with the name") {
  on_each([](checkpoint::Storage& storage) {
    storage.make("f");
    put_text(storage, "f/short", "abc");
    std::string part(3, ' ');
    const auto into = std::as_writable_bytes(std::span(part));
    CHECK_THROWS_WITH(storage.read("f/short", 1, into), contains("f/short"));
    CHECK_THROWS_WITH(storage.read("f/none", 0, into), contains("f/none"));
    CHECK_THROWS_WITH(put_text(storage, "g/file", "x"), contains("g"));
    CHECK_THROWS_WITH(storage.sync("f/none"), contains("f/none"));
    CHECK_THROWS_WITH(storage.rename("f/none", "f/a"), contains("f/none"));
    CHECK_THROWS_WITH(checkpoint::read_text(storage, "f/short", 2), contains("2 at most are read"));
    CHECK_THROWS_WITH(checkpoint::read_text(storage, "f/none", 2), contains("is not there"));
  });
}

TEST_CASE("memory storage: it stops at any call, and a write that stops is half written") {
  MemoryStorage storage;
  storage.make("f");
  CHECK(storage.calls() == 1);
  storage.stop_after(1);
  put_text(storage, "f/a", "1234");
  CHECK_THROWS_WITH(put_text(storage, "f/b", "1234"), contains("f/b: the storage has stopped"));
  CHECK_THROWS_AS(put_text(storage, "f/c", "1234"), CheckpointError);
  CHECK_THROWS_AS(storage.list("f"), CheckpointError);
  storage.start_again();
  CHECK(names_in(storage, "f") == std::vector<std::string>{"a", "b"});
  CHECK(content_in(storage, "f/a") == "1234");
  CHECK(content_in(storage, "f/b") == "12");
}

TEST_CASE("memory storage: a power cut takes what was not synced, names or bytes") {
  for (const PowerCut cut : {PowerCut::loses_names_and_bytes, PowerCut::loses_bytes}) {
    MemoryStorage storage;
    storage.make("f");
    storage.sync("");
    put_text(storage, "f/a", "old");
    storage.sync("f/a");
    storage.sync("f");
    put_text(storage, "f/a", "new");
    put_text(storage, "f/b", "b");
    storage.sync("f/b");
    put_text(storage, "f/c", "c");
    storage.rename("f/b", "f/d");
    storage.start_again(cut);
    const bool keeps_names = cut == PowerCut::loses_bytes;
    CHECK(content_in(storage, "f/a") == "old");
    CHECK(names_in(storage, "f") ==
          (keeps_names ? std::vector<std::string>{"a", "c", "d"} : std::vector<std::string>{"a"}));
    if (!keeps_names) continue;
    CHECK(content_in(storage, "f/c") != "c");
    CHECK(content_in(storage, "f/d") == "b");
  }
}

TEST_CASE("memory storage: a power cut keeps any subset of unsynced pages, and never all") {
  const std::string old(64, 'o'), now(64, 'n');
  std::set<std::string> over, fresh;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    MemoryStorage storage;
    put_text(storage, "over", old);
    storage.sync("over");
    put_text(storage, "over", now);
    put_text(storage, "fresh", now);
    storage.start_again(PowerCut::loses_bytes, seed);
    over.insert(content_in(storage, "over"));
    fresh.insert(content_in(storage, "fresh"));
    storage.start_again(PowerCut::loses_bytes, seed + 1);  // what the disk has, it has
    CHECK(over.contains(content_in(storage, "over")));
  }
  // Four pages, of which the disk has none to three.
  CHECK(over.size() == 15);
  CHECK(over.contains(old));
  CHECK_FALSE(over.contains(now));
  // Its length may be lost, too; then it is empty.
  CHECK(fresh.size() == 16);
  CHECK(fresh.contains(""));
  CHECK(fresh.contains(std::string(64, '\0')));
  CHECK_FALSE(fresh.contains(now));
}

TEST_CASE("file storage: a file that goes while its folder is listed is left out, and no error") {
  const Folder folder;
  FileStorage storage(folder.path());
  put_text(storage, "stays", "4444");
  const std::jthread other([&](const std::stop_token& stop) {
    FileStorage same(folder.path());
    while (!stop.stop_requested()) {
      for (int i = 0; i < 40; ++i) put_text(same, text("goes", i), "1");
      for (int i = 0; i < 40; ++i) same.remove(text("goes", i));
    }
  });
  std::size_t most = 0, least = 41;
  // Until lists have met the removals often; a list that fails throws.
  for (int i = 0; i < 3000; ++i) {
    const auto names = storage.list("");
    REQUIRE(names.back().name == "stays");
    REQUIRE(names.back().bytes == 4);
    most = std::max(most, names.size());
    least = std::min(least, names.size());
  }
  CHECK(least < most);
}

TEST_CASE(
    "storage: a checkpoint that goes behind a list is none, or is told with what is missing") {
  MemoryStorage files;
  lockstep::test::Run run(lockstep::test::adamw);
  const auto contents = checkpoint::contents_of(*run.model, *run.optimizer);
  const auto again = [&] {
    for (const std::int64_t step : {2, 4}) checkpoint::save(files, contents, {.step = step});
  };
  const auto goes = [&] { checkpoint::remove_all(files, "step_000004"); };
  again();
  CHECK(checkpoint::latest_in(Vanishing(files, "", goes)) == "step_000002");
  again();
  const Vanishing of_index(files, "step_000004", goes);
  CHECK_THROWS_WITH(checkpoint::SavedRun(of_index, "step_000004"),
                    contains("memory:step_000004/index.json is not there"));
  again();
  const checkpoint::SavedRun opened(files, "step_000004");
  goes();
  CHECK_THROWS_WITH(opened.load(*run.model, *run.optimizer),
                    contains("memory:step_000004/model.safetensors: no such file"));
  // What fails behind a list, and not what it lists, is an error in its own words.
  const Vanishing stops(files, "", [&] { files.stop_after(0); });
  CHECK_THROWS_WITH(checkpoint::latest_in(stops), contains("the storage has stopped"));
}
