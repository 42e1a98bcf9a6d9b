// What a proof depends on: it is proved again when any of it changes, and for no other reason.
#include "grader/memory/trial.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/impostors.hpp"
#include "tests/catch.hpp"
#include "tests/memory/small_lab.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using test::SmallLab;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> written{"solutions/06_x/ring.cpp",
                                       "exercises/06_x/ring.cpp",
                                       "exercises/06_x/ring.toml",
                                       "engine/ring.hpp",
                                       "engine/below.hpp",
                                       "engine/group.hpp",
                                       "engine/other.hpp",
                                       "tests/exercises/06_x/ring/mutants.toml",
                                       "tests/exercises/06_x/ring/contract.toml",
                                       "tests/exercises/06_x/ring/alternatives/a.cpp"};
const std::vector<std::string> made{
    "build/bin/judge-06", "build/adapter.o",    "build/uses.o",
    "build/world.o",      "build/room.a",       "build/pch.hpp",
    "build/plain.hpp",    "build/contract.hpp", "build/a space.hpp",
    "build/c++",          "build/cc1plus",      "build/libstdc++.a",
    "build/libgcc.a",     "build/libc.a",       "build/recipes/ring.recipe"};

// With a file that the digest is to notice, changed by a byte and put back.
void check_noticed(const SmallLab& small, const std::string& file) {
  INFO(file);
  const std::string before = small.digest(), content = read_text(small.path(file));
  fs::last_write_time(small.path(file), fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(small.digest() == before);
  small.write(file, content + "#");
  CHECK(small.digest() != before);
  fs::remove(small.path(file));
  if (!file.ends_with(".recipe") && !file.starts_with("build/c++")) CHECK(small.digest() != before);
  small.write(file, content);
  fs::permissions(small.path(file), fs::perms::owner_all);
  CHECK(small.digest() == before);
}

// Its compiler notes what it reads: headers in `headers`, and what it links in `linked`.
struct Noted {
  test::Scratch scratch;
  Recipe recipe;

  explicit Noted(const Recipe& usual) : recipe(usual) {
    const fs::path compiler = scratch.path() / "c++";
    write_text(compiler, "#!/bin/sh\nfor word; do [ \"$word\" != -c ] || exec " + usual.compiler +
                             " \"$@\" -MD -MF " + path("headers") + "; done\nexec " +
                             usual.compiler + " \"$@\" -Wl,--trace >" + path("linked") + "\n");
    fs::permissions(compiler, fs::perms::owner_all);
    recipe.compiler = compiler;
    recipe.pch = usual.plain_header;  // or it would read the precompiled one alone
  }
  std::string path(const std::string& name) const { return (scratch.path() / name).string(); }
};

// "trace: /usr/lib/libc.a(printf.o)" of mold, "/usr/lib/libc.a" of GNU's linker.
std::string path_in(const std::string& line) {
  const std::size_t begin = line.find('/');
  return line.substr(begin, line.find('(') - begin);
}

fs::path itself(const std::string& file, const fs::path& root) {
  return fs::weakly_canonical(root / file);
}

}  // namespace

TEST_CASE("a trial's digest: another when any file that the answers are made of changes") {
  const SmallLab small;
  for (const std::string& file : written) check_noticed(small, file);
  for (const std::string& file : made) check_noticed(small, file);
  const std::string before = small.digest();
  small.write("tests/exercises/06_x/ring/alternatives/b.cpp", "");
  CHECK(small.digest() != before);
  const auto& files = small.trial().files;
  CHECK(std::ranges::find(files, fs::path("/proc/self/exe")) != files.end());
}

TEST_CASE("a trial's digest: the same at another place, in another order, and for what is beside") {
  const SmallLab here, there;
  CHECK(here.path("") != there.path(""));
  CHECK(here.digest() == there.digest());
  Trial trial = here.trial();
  std::ranges::reverse(trial.files);
  CHECK(digest_of(here.lab.places, trial) == here.digest());
  for (const char* file : {"solutions/06_x/tree.cpp", "engine/nobody.hpp", "build/shared.o"}) {
    here.write(file, "something else");
  }
  CHECK(here.digest() == there.digest());
  trial.what += ", seeds 1 to 2";
  CHECK(digest_of(here.lab.places, trial) != here.digest());
}

TEST_CASE("a trial's digest: a hash that is kept is believed while the file stays as it is") {
  const SmallLab small;
  const std::string before = small.digest();
  const std::string kept = read_text(small.path("build/hashes.txt"));  // of the machine's tools
  CHECK_THAT(kept, !test::contains("adapter.o"));                      // which was written just now
  // Every hash another one; and every inode, size or time, for `field` 1 to 4.
  const auto forged = [&](int field) {
    std::istringstream lines(kept);
    std::string all;
    for (std::string line; std::getline(lines, line);) {
      std::size_t at = line.find('\t');
      line.replace(at + 1, 16, "0123456789abcdef");
      for (int i = 4; field > 0 && i >= field; --i) at = line.rfind(' ', at - 1);
      if (field > 0) line.insert(at + 1, "1");
      all += line + "\n";
    }
    return all;
  };
  small.write("build/hashes.txt", forged(0));
  CHECK(small.digest() != before);
  for (const int field : {1, 2, 3, 4}) {
    small.write("build/hashes.txt", forged(field));
    CHECK(small.digest() == before);
  }
  small.write("build/hashes.txt", "half a line\tand no hash\nhalf");
  CHECK(small.digest() == before);
}

TEST_CASE("a trial of impostors: another for its exam, its impostors and what the manifest says") {
  SmallLab small;
  small.ring.name = "zero_2_gradients";  // of which one lies
  const auto digest = [&] {
    return digest_of(small.lab.places, trial_of_impostors(small.lab, small.ring));
  };
  for (const char* file :
       {"exercises/06_x/zero_2_gradients.toml", "build/bin/judge-06", "build/bin/impostor-silent",
        "build/bin/impostor-echoing", "build/bin/impostor-random",
        "build/bin/impostor-lying-zero_2_gradients.hoards"}) {
    INFO(file);
    const std::string before = digest();
    small.write(file, "another");
    CHECK(digest() != before);
  }
  const std::string before = digest();
  small.write("solutions/06_x/zero_2_gradients.cpp", "another");
  CHECK(digest() == before);
}

TEST_CASE("a trial of answers: its files are all that compiler and linker read for a player") {
  Lab lab;
  lab.places = {LOCKSTEP_ROOT, LOCKSTEP_BUILD};
  lab.course = read_course(lab.places.manifest());
  const Exercise& ring = exercise_named(lab.course, "ring_all_reduce");
  const Trial trial = trial_of_answers(lab, ring, "proof");
  std::set<fs::path> known;
  for (const fs::path& file : trial.files) known.insert(itself(file, lab.places.root));
  const Recipe usual = recipe_for(read_recipe(lab.places.recipe(ring)), PlayerKind::usual);
  const Noted noted(usual);
  const fs::path object = noted.path("ring.o"), source = lab.places.solution(ring);
  known.insert(object);
  const auto compiled =
      compile_student(lab.places, noted.recipe, ring, source, object, Paint::plain);
  REQUIRE(compiled.cause == "");
  REQUIRE(link_player(lab.places, noted.recipe, "", object, noted.path("player")).cause == "");
  // The compiler's headers and objects, and its libraries but for these two, come with what is
  // known.
  const auto comes_with = [&](const fs::path& file) {
    const bool of_machine = lab.places.shown(file) == file;
    return of_machine && file.filename() != "libstdc++.a" && file.filename() != "libc.a";
  };
  std::string forgotten;
  const auto look_for = [&](const std::string& path) {
    const fs::path file = itself(path, lab.places.root);
    if (!known.contains(file) && !comes_with(file)) forgotten += path + "\n";
  };
  std::istringstream words(read_text(noted.path("headers")));
  std::size_t headers = 0, linked = 0;
  for (std::string word; words >> word; ++headers) {
    if (word != "\\" && !word.ends_with(":")) look_for(word);
  }
  std::istringstream lines(read_text(noted.path("linked")));
  for (std::string line; std::getline(lines, line); ++linked) look_for(path_in(line));
  CHECK(forgotten == "");
  CHECK(headers > 100);
  CHECK(linked > 10);
}
