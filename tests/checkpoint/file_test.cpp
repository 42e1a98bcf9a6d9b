#include "engine/checkpoint/file.hpp"

#include <sys/stat.h>

#include <array>

#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"
#include "tests/checkpoint/full_disk.hpp"

using namespace lockstep;
using checkpoint::CheckpointError;
using checkpoint::NewFile;
using checkpoint::OldFile;
using lockstep::test::contains;
using lockstep::test::content_of;
using lockstep::test::files_in;
using lockstep::test::Folder;
using lockstep::test::FullDisk;
using lockstep::test::put;

TEST_CASE("new file: the target has the old content until commit, and then the new one") {
  const Folder folder;
  put(folder / "a", "old");
  NewFile file(folder / "a");
  file.write("new content");
  CHECK(content_of(folder / "a") == "old");
  file.commit();
  CHECK(content_of(folder / "a") == "new content");
  CHECK(files_in(folder.path()) == 1);
  CHECK_THROWS_AS(file.write("more"), ContractError);
  CHECK_THROWS_AS(file.commit(), ContractError);
}

TEST_CASE("new file: given up or on a full disk, the old content stays and nothing else does") {
  const Folder folder;
  put(folder / "a", "old");
  { NewFile(folder / "a").write("new content"); }
  CHECK(content_of(folder / "a") == "old");
  CHECK(files_in(folder.path()) == 1);

  const auto write_much = [&] {
    NewFile file(folder / "a");
    file.write(std::string(5000, 'x'));
    file.commit();
  };
  {
    const FullDisk full(4096);
    CHECK_THROWS_AS(write_much(), CheckpointError);
    CHECK_THROWS_WITH(write_much(), contains("writing") && contains("File too large"));
  }
  CHECK(content_of(folder / "a") == "old");
  CHECK(files_in(folder.path()) == 1);
  write_much();
  CHECK(content_of(folder / "a").size() == 5000);
}

TEST_CASE("new file: where no file can be, the sentence says which and why") {
  const Folder folder;
  CHECK_THROWS_WITH(NewFile(folder / "no/a"), contains("no/a") && contains("No such file"));
  std::filesystem::create_directories(folder / "b/inside");
  CHECK_THROWS_WITH(NewFile(folder / "b"), contains("no regular file"));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("new file: a device, a pipe or a socket is never replaced by a file") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(NewFile(folder / "pipe"), contains("pipe") && contains("no regular file"));
  CHECK(std::filesystem::is_fifo(folder / "pipe"));
  CHECK(files_in(folder.path()) == 1);
  NewFile over_a_folder_that_came(folder / "late");
  over_a_folder_that_came.write("x");
  std::filesystem::create_directories(folder / "late/inside");
  CHECK_THROWS_AS(over_a_folder_that_came.commit(), CheckpointError);
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("new file: what an earlier crash left is overwritten") {
  const Folder folder;
  put(folder / "a.tmp", std::string(100, 'x'));
  NewFile file(folder / "a");
  file.write("short");
  file.commit();
  CHECK(content_of(folder / "a") == "short");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("new file: a link stays one, and what it leads to is replaced or made") {
  const Folder folder;
  std::filesystem::create_directory(folder / "large");
  put(folder / "large/a", "old");
  const auto link = [&](const char* to, const char* name) {
    std::filesystem::create_symlink(to, folder / name);
  };
  link("large/a", "a");
  link("a", "b");  // to a link
  link("large/new", "c");
  for (const char* name : {"b", "c"}) {
    NewFile file(folder / name);
    file.write("new");
    file.commit();
    CHECK(std::filesystem::is_symlink(folder / name));
    CHECK(content_of(folder / name) == "new");
  }
  CHECK(content_of(folder / "large/a") == "new");
  CHECK(files_in(folder / "large") == 2);
  link("round", "and round");
  link("and round", "round");
  CHECK_THROWS_WITH(NewFile(folder / "round"), contains("is a link that leads back to itself"));
  CHECK(std::filesystem::is_symlink(folder / "round"));
  // A temporary file that is a link would be written through.
  put(folder / "precious", "mine");
  link("precious", "d.tmp");
  CHECK_THROWS_WITH(NewFile(folder / "d"), contains("d.tmp") && contains("is a link"));
  CHECK(content_of(folder / "precious") == "mine");
}

TEST_CASE("old file: is read at places, and not beyond its end") {
  const Folder folder;
  put(folder / "a", "0123456789");
  const OldFile file(folder / "a");
  CHECK(file.size() == 10);
  std::array<std::byte, 3> three{};
  file.read(7, three);
  CHECK(three == std::array{std::byte{'7'}, std::byte{'8'}, std::byte{'9'}});
  CHECK_THROWS_WITH(file.read(8, three), contains("ends at byte 10, where 1 more"));
  CHECK_THROWS_WITH(OldFile(folder / "b"), contains("No such file"));
  CHECK_THROWS_WITH(OldFile(folder.path()), contains("no regular file"));
}
