// What is remembered in a user's cache, what is not believed of it, and that neither stops a run.
#include "grader/memory/memory.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/memory/small_lab.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using test::SmallLab;
namespace fs = std::filesystem;

namespace {

constexpr const char* what_held = "ring: it holds\nwith all of its matrix\n";

// A trial, and one file in which it is remembered.
struct Held {
  Held() {
    ::unsetenv("LOCKSTEP_TRIALS");  // ./lab test counts its own
    remember();
  }
  void remember() const {
    Memory(small.lab, Recall::afresh, folder).remember(trial, digest, what_held);
  }
  std::optional<std::string> recalled(Recall recall = Recall::allowed) const {
    return Memory(small.lab, recall, folder).recall(trial.what, digest);
  }
  // Not believed as it is now, and nothing is wrong when the trial is made again.
  void check_forgotten(const std::string& how) const {
    INFO(how);
    CHECK_FALSE(recalled());
    remember();
    CHECK(recalled() == what_held);
  }

  SmallLab small;
  fs::path folder = small.path("cache/lockstep/held");
  Trial trial = small.trial();
  std::string digest = digest_of(small.lab.places, trial);
  fs::path file = folder / (digest + ".held");
};

void change(const fs::path& file, const std::string& content) {
  write_text(file, content);  // of the same file, with the same permissions
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("memory: what held is recalled with its digest, by every clone, and nothing else is") {
  const Held held;
  CHECK(held.recalled() == what_held);
  CHECK_FALSE(held.recalled(Recall::afresh));
  CHECK_FALSE(held.recalled());  // what fails afresh is not believed later
  held.remember();
  CHECK_FALSE(
      Memory(held.small.lab, Recall::allowed, held.folder).recall("another", "0123456789abcdef"));
  const SmallLab clone;
  CHECK(Memory(clone.lab, Recall::allowed, held.folder).recall("", clone.digest()) == what_held);
  std::vector<std::string> words{"ring", "--afresh"};
  CHECK(recall_asked_for(words) == Recall::afresh);
  CHECK(words == std::vector<std::string>{"ring"});
}

TEST_CASE("memory: what changed while it was tried is not remembered") {
  const Held held;
  fs::remove(held.file);
  held.small.write("build/adapter.o", "linked anew");
  held.remember();
  CHECK(fs::is_empty(held.folder));
}

TEST_CASE("memory: a file that is damaged, cut off or another trial's is not believed") {
  const Held held;
  const std::string content = read_text(held.file);
  for (std::size_t at = 0; at < content.size(); at += 7) {
    change(held.file, content.substr(0, at));
    held.check_forgotten(text("after ", at, " bytes"));
    std::string flipped = content;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    change(held.file, flipped);
    held.check_forgotten(text("byte ", at));
  }
  change(held.file, content + "\n");
  held.check_forgotten("longer");
  change(held.file, std::string(2 << 20, 'x'));
  held.check_forgotten("too long");
  const std::string other(held.digest.rbegin(), held.digest.rend());
  fs::rename(held.file, held.folder / (other + ".held"));
  CHECK_FALSE(Memory(held.small.lab, Recall::allowed, held.folder).recall("other", other));
}

TEST_CASE("memory: a link, a pipe, and what others may write to are not believed") {
  const Held held;
  const std::string content = read_text(held.file);
  held.small.write("elsewhere", content);
  fs::remove(held.file);
  fs::create_symlink(held.small.path("elsewhere"), held.file);
  held.check_forgotten("a link");
  CHECK(read_text(held.small.path("elsewhere")) == content);
  fs::remove(held.file);
  REQUIRE(::mkfifo(held.file.c_str(), S_IRUSR | S_IWUSR) == 0);
  held.check_forgotten("a pipe");
  fs::permissions(held.file, fs::perms::others_write, fs::perm_options::add);
  held.check_forgotten("others may write");
  if (::geteuid() == 0) {
    REQUIRE(::chown(held.file.c_str(), 12345, 12345) == 0);
    held.check_forgotten("another user's");
  }
  fs::permissions(held.folder, fs::perms::group_write, fs::perm_options::add);
  CHECK_FALSE(held.recalled());
}

TEST_CASE("memory: a folder that is another's, a file, a link or impossible is said once") {
  const Held held;
  fs::create_directory_symlink(held.folder, held.small.path("link"));
  for (const fs::path& folder : {held.small.path("link"), held.file, fs::path("/proc/none/held")}) {
    INFO(folder);
    Memory memory(held.small.lab, Recall::allowed, folder);
    CHECK_FALSE(memory.recall(held.trial.what, held.digest));
    memory.remember(held.trial, held.digest, what_held);
  }
  CHECK(files_in(held.folder) == 1);
}

TEST_CASE("memory: on a full disk nothing is remembered, and nothing half written stays") {
  const Held held;
  fs::remove(held.file);
  held.small.digest();  // its hashes are written before
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto heard = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  held.remember();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, heard);
  CHECK(fs::is_empty(held.folder));
  held.check_forgotten("there was no room");
}

TEST_CASE("memory: from a folder that is read-only, what is there is recalled") {
  const Held held;
  fs::permissions(held.folder, fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(held.recalled() == what_held);
  held.remember();
  CHECK(held.recalled() == what_held);
  fs::permissions(held.folder, fs::perms::owner_all);
}

TEST_CASE("memory: the files used longest ago go, and no other file does") {
  const Held held;
  const auto age = [&](const fs::path& file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  held.small.write("kept/old.held", "");
  age(held.small.path("kept/old.held"), 1000);
  fs::create_symlink(held.small.path("kept/old.held"), held.folder / "link.held");
  fs::create_directory_symlink(held.small.path("kept"), held.folder / "folder.held");
  held.small.write("cache/lockstep/held/mine.txt", "");
  age(held.folder / "mine.txt", 1000);
  for (int i = 1; i <= 4; ++i) {
    held.small.write(text("cache/lockstep/held/", i, ".held"), "");
    age(held.folder / text(i, ".held"), 10 * i);
  }
  age(held.file, 35);
  CHECK(held.recalled());  // it is used, so that it is not the next to last
  Memory(held.small.lab, Recall::allowed, held.folder, 4)
      .remember(held.trial, held.digest, what_held);
  CHECK(held.recalled());
  CHECK(fs::exists(held.folder / "2.held"));
  CHECK_FALSE(fs::exists(held.folder / "3.held"));
  CHECK_FALSE(fs::exists(held.folder / "4.held"));
  for (const char* file : {"link.held", "folder.held", "mine.txt"})
    CHECK(fs::exists(held.folder / file));
  CHECK(fs::exists(held.small.path("kept/old.held")));
}

TEST_CASE("memory: many at once remember and recall the same, whole or not at all") {
  const Held held;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> users;
    for (int user = 0; user < 4; ++user) {
      users.emplace_back([&] {
        for (int i = 0; i < 25; ++i) {
          held.remember();
          if (held.recalled() != what_held) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
  CHECK(files_in(held.folder) == 1);
}

TEST_CASE("lab dev: references are remembered by exercise and seeds, and tried again when asked") {
  const test::Scratch scratch;
  const fs::path sums = scratch.path() / "sums";
  const auto said = [&](const std::vector<std::string>& words) {
    fs::remove(sums);
    std::vector<std::string> argv{"env", "-u", "LOCKSTEP_AFRESH",
                                  "LOCKSTEP_TRIALS=" + sums.string(),
                                  "LOCKSTEP_MEMORY=" + (scratch.path() / "memory").string()};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {LOCKSTEP_DEV, "dev", "references", "ring_all_reduce", "--seeds", "1"});
    const CommandResult result = run_command(argv, LOCKSTEP_ROOT, test::patient);
    CHECK_THAT(result.output, test::contains("every reference earns all points"));
    CHECK(result.exit_code == 0);
    return read_text(sums);
  };
  const std::string what = "references of 06_all_reduce/ring_all_reduce, seeds 1 to 1\n";
  CHECK(said({}) == "tried " + what);
  CHECK(said({}) == "remembered " + what);
  CHECK(said({"LOCKSTEP_AFRESH=yes"}) == "tried " + what);
}
