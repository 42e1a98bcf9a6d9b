#include "engine/checkpoint/job_lock.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "engine/checkpoint/storage.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"

using namespace lockstep;
using checkpoint::JobLock;
using lockstep::test::contains;
using lockstep::test::content_of;
using lockstep::test::files_in;
using lockstep::test::Folder;
using lockstep::test::put;

TEST_CASE(
    "job lock: a second job is told which process has the folder, and has it when that ends") {
  const Folder folder;
  const auto runs = folder / "deep/runs";
  std::optional<JobLock> first(runs);
  CHECK_THROWS_WITH(JobLock(runs),
                    contains("deep/runs belongs to process " + text(::getpid()) + " on ") &&
                        contains("pass a different --checkpoint"));
  CHECK_NOTHROW(JobLock(folder / "other"));
  first.reset();
  CHECK(files_in(runs) == 0);
  CHECK_NOTHROW(JobLock(runs));
}

TEST_CASE("job lock: a file that is no lock stays as it is, also behind a link") {
  const Folder folder;
  put(folder / ".job", "mine");
  CHECK_THROWS_WITH(JobLock(folder.path()), contains(".job") && contains("is no lock of a job"));
  std::filesystem::rename(folder / ".job", folder / "chapter");
  std::filesystem::create_symlink("chapter", folder / ".job");
  CHECK_THROWS_WITH(JobLock(folder.path()), contains("is a link"));
  CHECK(content_of(folder / "chapter") == "mine");
}

TEST_CASE("job lock: of a process that is killed nothing stays but a file, which refuses nobody") {
  const Folder folder;
  const ::pid_t child = ::fork();
  if (child == 0) {
    const JobLock lock(folder.path());
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  CHECK(files_in(folder.path()) == 1);
  CHECK_NOTHROW(JobLock(folder.path()));
}
