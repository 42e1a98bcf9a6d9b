// The file store among processes that are killed, on a full disk, and with files that are no store.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/stores/file_store.hpp"
#include "engine/comm/stores/socket.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"
#include "tests/checkpoint/full_disk.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;
using lockstep::test::content_of;
using lockstep::test::Folder;
using lockstep::test::put;

namespace {

// Runs `body` in a child, which exits with 0 unless the body throws.
template <typename Body>
pid_t fork_child(const Body& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    body();
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

int end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("file store: processes find each other's keys, whoever comes first") {
  const Folder folder;
  const std::string path = folder / "store";
  std::vector<pid_t> children;
  for (int rank = 0; rank < 4; ++rank) {
    children.push_back(fork_child([&] {
      const auto store = open_file_store(path);
      std::vector<std::string> keys;
      for (int other = 0; other < 4; ++other) keys.push_back("here/" + std::to_string(other));
      for (int i = 0; i < 100; ++i) store->add("sum", 1);
      store->set(keys[static_cast<std::size_t>(rank)], "");
      store->wait(keys, 30);
      if (store->get("sum") != "400") throw Error("lost an addition");
    }));
  }
  for (const pid_t child : children) CHECK(end_of(child) == 0);
  CHECK(open_file_store(path)->num_keys() == 5);
}

TEST_CASE("file store: parent and child of a fork may go on with the same object") {
  const Folder folder;
  const auto store = open_file_store(folder / "store");
  store->set("before", "1");
  const pid_t child = fork_child([&] {
    for (int i = 0; i < 200; ++i) store->add("sum", 1);
    store->get("parent");
  });
  for (int i = 0; i < 200; ++i) store->add("sum", 1);
  store->set("parent", "here");
  CHECK(end_of(child) == 0);
  CHECK(store->get("sum") == "400");
}

TEST_CASE("file store: a process killed in mid-change leaves a store that others go on with") {
  const Folder folder;
  const std::string path = folder / "store";
  const auto store = open_file_store(path);
  for (int round = 1; round <= 10; ++round) {
    const std::string key = "value/" + std::to_string(round);
    const pid_t child = fork_child([&] {
      const auto mine = open_file_store(path);
      for (std::size_t i = 0;; ++i) mine->set(key, std::string(997 * (i % 7), 'x'));
    });
    store->wait(std::vector<std::string>{key}, 30);
    kill(child, SIGKILL);
    CHECK(end_of(child) == SIGKILL);
    CHECK(store->get(key).size() % 997 == 0);
    CHECK(store->add("rounds", 1) == round);
  }
  CHECK(open_file_store(path)->get("rounds") == "10");
}

TEST_CASE("file store: of a file that ends anywhere only whole records count") {
  const Folder folder;
  std::vector<std::size_t> ends;  // of the file after each change
  {
    const auto store = open_file_store(folder / "whole");
    for (const std::string key : {"a", "b", "c"}) {
      store->set(key, "value of " + key);
      ends.push_back(content_of(folder / "whole").size());
    }
    store->delete_key("a");
    ends.push_back(content_of(folder / "whole").size());
  }
  const std::string whole = content_of(folder / "whole");
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    const std::string path = folder / std::to_string(size);
    put(path, whole.substr(0, size));
    const auto records =
        std::count_if(ends.begin(), ends.end(), [&](auto end) { return end <= size; });
    const auto reader = open_file_store(path, 0.2);
    CHECK(reader->num_keys() == (records == 4 ? 2 : records));
    CHECK(content_of(path).size() == size);  // who reads changes nothing
    open_file_store(path)->set("next", "after the end");
    CHECK(reader->get("next") == "after the end");
    CHECK(open_file_store(path)->num_keys() == (records == 4 ? 3 : records + 1));
  }
}

TEST_CASE("file store: a damaged file is refused, wherever the damage is") {
  const Folder folder;
  const std::string path = folder / "store";
  open_file_store(path)->set("first", "value");
  open_file_store(path)->set("second", "value");
  const std::string whole = content_of(path);
  const std::size_t second = whole.size() - 40;  // inside the body of the last record
  for (const std::size_t at : {std::size_t{3}, std::size_t{30}, second, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    put(path, damaged);
    CAPTURE(at);
    CHECK_THROWS_AS(open_file_store(path)->get("first"), CommError);
    CHECK_THROWS_AS(open_file_store(path)->set("first", ""), CommError);
    CHECK(content_of(path) == damaged);
  }
}

TEST_CASE("file store: what is no store is refused and stays as it is") {
  const Folder folder;
  put(folder / "letter", "Dear reader,\n");
  const auto store = open_file_store(folder / "letter", 0.1);
  CHECK_THROWS_WITH(store->set("a", "b"), contains("letter") && contains("something else"));
  CHECK(content_of(folder / "letter") == "Dear reader,\n");
  CHECK_THROWS_WITH(open_file_store(folder.path(), 0.1)->check("a"), contains("cannot open it"));
  CHECK_THROWS_WITH(open_file_store("/dev/null", 0.1)->check("a"), contains("no plain file"));
  CHECK_THROWS_WITH(open_file_store(folder / "no/such/folder", 0.1)->check("a"),
                    contains("no/such/folder") && contains("every rank may write"));
}

TEST_CASE("file store: a file that is taken away is noticed") {
  const Folder folder;
  const std::string path = folder / "store";
  const auto store = open_file_store(path, 0.2);
  store->set("key", "value");
  std::filesystem::remove(path);
  CHECK_THROWS_WITH(store->get("key"), contains("removed or replaced") && contains(path));
}

TEST_CASE("file store: a lock that another keeps is a deadline that names the file") {
  const Folder folder;
  const std::string path = folder / "store";
  open_file_store(path)->set("key", "value");
  const Descriptor other(open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(flock(other.get(), LOCK_EX) == 0);
  const auto store = open_file_store(path, 0.05);
  CHECK_THROWS_WITH(store->set("key", "new"),
                    contains(path) && contains("locked for 0.05 s") && contains("stopped"));
  CHECK_THROWS_AS(store->get("key"), CommError);
  flock(other.get(), LOCK_UN);
  CHECK(store->get("key") == "value");
}

TEST_CASE("file store: on a full disk a change fails whole, and the store lives on") {
  const Folder folder;
  const std::string path = folder / "store";
  const auto store = open_file_store(path);
  store->set("key", "value");
  {
    const lockstep::test::FullDisk full(1000);
    CHECK_THROWS_WITH(store->set("big", std::string(5000, 'x')), contains("cannot write it"));
    CHECK_FALSE(store->check("big"));
    CHECK_FALSE(open_file_store(path)->check("big"));
    CHECK(store->get("key") == "value");
  }
  store->set("big", "small");
  CHECK(open_file_store(path)->get("big") == "small");
}
