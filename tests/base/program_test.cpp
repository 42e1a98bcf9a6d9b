// The frame of every main, in a forked child whose streams are files.
#include "engine/base/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>

#include "engine/base/destination.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
namespace fs = std::filesystem;

namespace {

struct Ended {
  int code = 0;
  std::string errors;
};

// Runs `run` in the frame, in a child of its own; `before` sets its streams up.
Ended framed(
    const std::function<int()>& run, const std::function<void()>& before = [] {}) {
  std::FILE* const kept = std::tmpfile();
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::fileno(kept), STDERR_FILENO);
    before();
    const auto tell = [](Fault fault, const std::string& sentence) {
      std::cerr << "test: " << sentence << "\n";
      return 10 + static_cast<int>(fault);
    };
    ::_exit(run_main(tell, run));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::rewind(kept);
  Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, ""};
  for (int c = std::fgetc(kept); c != EOF; c = std::fgetc(kept)) {
    ended.errors += static_cast<char>(c);
  }
  std::fclose(kept);
  return ended;
}

void onto_full_disk() { ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO); }

Ended thrown(const std::function<void()>& fails) {
  return framed([&] {
    fails();
    return 0;
  });
}

}  // namespace

TEST_CASE("program: each error has one sentence and the code of its kind") {
  const auto usage = thrown([] { throw UsageError("say what"); });
  CHECK(usage.code == 10);
  CHECK(usage.errors == "test: say what\n");
  CHECK(thrown([] { throw Lacking("no gdb"); }).code == 11);
  CHECK(thrown([] { throw CommError("a peer is lost"); }).code == 12);
  CHECK(framed([] { return 7; }).code == 7);
}

TEST_CASE("program: the standard library's errors are said in our words") {
  const auto memory = thrown([] { throw std::bad_alloc(); });
  CHECK(memory.code == 11);
  CHECK_THAT(memory.errors, contains("not enough memory") && !contains("bad_alloc"));
  const auto file = thrown([] { static_cast<void>(fs::file_size("/no/such/file")); });
  CHECK(file.code == 12);
  CHECK_THAT(file.errors, contains("'/no/such/file': No such file or directory; make it") &&
                              !contains("filesystem error"));
  const auto full = thrown([] {
    throw fs::filesystem_error("copy", "a", "b",
                               std::make_error_code(std::errc::no_space_on_device));
  });
  CHECK(full.code == 11);
  CHECK_THAT(full.errors, contains("'a' to 'b': No space left on device; free some space"));
  CHECK_THAT(thrown([] { static_cast<void>(std::stoi("x")); }).errors,
             contains("a mistake of its own (std::invalid_argument: stoi)"));
  CHECK_THAT(thrown([] { std::vector<int>().reserve(~std::size_t{0}); }).errors,
             contains("longer than any memory"));
}

TEST_CASE("program: output that is lost is a fault, whatever the program returned") {
  for (const int code : {0, 1}) {
    const auto lost = framed(
        [&] {
          std::cout << "some words\n";
          return code;
        },
        onto_full_disk);
    CHECK(lost.code == 11);
    CHECK_THAT(lost.errors,
               contains("did not take all that was printed (No space left on device)"));
  }
  CHECK(framed([] { return 0; }, onto_full_disk).code == 0);  // nothing was printed
  const auto early = framed(
      [] {
        std::cout << "some words" << std::endl;
        std::cout << "and more\n";
        return 0;
      },
      onto_full_disk);
  CHECK(early.code == 11);
}

TEST_CASE("program: closed streams are open on nothing, so that no file gets their numbers") {
  const auto ended = framed(
      [] {
        const int next = ::open("/dev/zero", O_RDONLY);
        std::cout << "into nothing\n";
        return next > STDERR_FILENO ? 0 : 1;
      },
      [] {
        ::close(STDIN_FILENO);
        ::close(STDOUT_FILENO);
      });
  CHECK(ended.code == 0);
}

TEST_CASE("destination: what is in the way is said before anything is written") {
  const fs::path place =
      fs::temp_directory_path() / ("lockstep-destination-" + std::to_string(::getpid()));
  fs::create_directories(place / "folder");
  std::ofstream(place / "file") << "kept";
  CHECK_NOTHROW(check_destination("--out", place / "new"));
  CHECK_NOTHROW(check_destination("--out", place / "file"));
  CHECK_NOTHROW(check_folder_destination("--out", place / "a/b/c"));
  CHECK_FALSE(fs::exists(place / "new"));
  CHECK_FALSE(fs::exists(place / "a"));
  CHECK_THROWS_WITH(check_destination("--out", place / "folder"), contains("is a folder"));
  CHECK_THROWS_WITH(check_destination("--out", place / "gone/new"), contains("mkdir -p"));
  CHECK_THROWS_WITH(check_destination("--out", place / "file/new"), contains("is no folder"));
  CHECK_THROWS_WITH(check_folder_destination("--out", place / "file/a"), contains("is no folder"));
  CHECK_THROWS_WITH(check_destination("--out", "/dev/null"), contains("no regular file"));
  CHECK_THROWS_AS(check_destination("--out", ""), UsageError);
  const auto link = [&](const char* to, const char* name) { fs::create_symlink(to, place / name); };
  link("folder/new", "to new");
  CHECK_NOTHROW(check_destination("--out", place / "to new"));
  CHECK_FALSE(fs::exists(place / "folder/new"));
  link("folder", "to folder");
  CHECK_THROWS_WITH(check_destination("--out", place / "to folder"),
                    contains("to folder is a link: ") && contains("/folder is a folder"));
  link("gone/new", "to gone");
  CHECK_THROWS_WITH(check_destination("--out", place / "to gone"),
                    contains("to gone is a link: the folder ") && contains("mkdir -p"));
  link("round", "round");
  CHECK_THROWS_WITH(check_destination("--out", place / "round"),
                    contains("links lead in a circle"));
  CHECK_THROWS_WITH(check_folder_destination("--out", place / "to gone"),
                    contains("to gone is a link to nothing; make ") && contains("gone/new first"));
  CHECK_NOTHROW(check_folder_destination("--out", place / "to folder"));
  fs::remove_all(place);
}
