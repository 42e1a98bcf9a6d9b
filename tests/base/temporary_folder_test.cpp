// Folders of processes that end in every way.
#include "engine/base/temporary_folder.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/catch.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

// The folder that a process made which was killed while it had it.
fs::path of_a_killed_process(const std::string& purpose) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder folder(purpose);
    std::ofstream(folder.path() / "file") << "kept";
    const std::string name = folder.path().string();
    if (::write(ends[1], name.data(), name.size()) < 0) ::_exit(1);
    ::pause();
  }
  char name[4096]{};
  REQUIRE(::read(ends[0], name, sizeof name - 1) > 0);
  ::close(ends[0]);
  ::close(ends[1]);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return name;
}

}  // namespace

TEST_CASE("temporary folder: is new and empty, and goes with the object") {
  fs::path path;
  {
    const TemporaryFolder folder("test"), other("test");
    path = folder.path();
    CHECK(fs::is_empty(path));
    CHECK(path != other.path());
    CHECK(path.parent_path() == fs::temp_directory_path());
    std::ofstream(path / "file") << "something";
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE(
    "temporary folder: of a killed process goes at the next start; of a living one it stays") {
  const std::string purpose = "test" + std::to_string(::getpid());
  const fs::path left = of_a_killed_process(purpose);
  CHECK(fs::exists(left / "file"));
  const TemporaryFolder mine(purpose);
  CHECK_FALSE(fs::exists(left));
  const TemporaryFolder another(purpose);
  CHECK(fs::exists(mine.path()));
}
