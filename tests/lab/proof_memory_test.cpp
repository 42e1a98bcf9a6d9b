// What a proof depends on, and that it is proved again when any of it changes.
#include "grader/dev/proof_memory.hpp"

#include <algorithm>
#include <chrono>

#include "grader/course/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

// A lab of one exercise, with a file of each kind that its proof depends on.
struct SmallLab {
  SmallLab() {
    lab.places = {scratch.path(), scratch.path() / "build"};
    ring.name = "ring";
    ring.lesson = ring.reading = "06_x";
    ring.header = "engine/ring.hpp";
    ring.symbols = {"ring()"};
    for (const char* file :
         {"solutions/06_x/ring.cpp", "exercises/06_x/ring.cpp", "engine/below.hpp",
          "engine/group.hpp", "engine/other.hpp", "build/bin/judge-06", "build/adapter.o",
          "build/uses.o", "build/world.o", "build/room.a", "build/pch.hpp.gch",
          "build/contract.hpp", "build/c++"}) {
      write(file, file);
    }
    write("engine/ring.hpp", "#include \"engine/below.hpp\"\n");
    write("tests/exercises/06_x/ring/mutants.toml",
          "put = '''\n#include \"engine/group.hpp\"\n'''\n");
    write("tests/exercises/06_x/ring/alternatives/a.cpp", "#include \"engine/other.hpp\"\n");
    write("build/pch.hpp.d", "pch.hpp.gch: \\\n " + path("build/contract.hpp").string() + " \\\n");
    write("build/recipes/ring.recipe",
          text("compiler ", path("build/c++").string(), "\npch ", path("build/pch.hpp").string(),
               "\ncompile_flag -O1\nobject ", path("build/adapter.o").string(), "\nobject ",
               path("build/uses.o").string(), "\nsimulated_object ", path("build/world.o").string(),
               "\nlibrary ", path("build/room.a").string(), "\n"));
  }
  fs::path path(const std::string& file) const { return scratch.path() / file; }
  void write(const std::string& file, const std::string& content) const {
    write_text(path(file), content);
  }
  std::string digest() const { return digest_of(inputs_of_proof(lab, ring)); }

  test::Scratch scratch;
  Lab lab;
  Exercise ring;
};

void touch(const fs::path& file) {
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(2));
}

}  // namespace

TEST_CASE("a proof that held: is proved again when a text that it is made of changes") {
  const SmallLab small;
  const std::string before = small.digest();
  CHECK(small.digest() == before);
  for (const char* file :
       {"solutions/06_x/ring.cpp", "exercises/06_x/ring.cpp", "engine/ring.hpp", "engine/below.hpp",
        "engine/group.hpp", "engine/other.hpp", "tests/exercises/06_x/ring/mutants.toml",
        "tests/exercises/06_x/ring/alternatives/a.cpp", "build/recipes/ring.recipe"}) {
    INFO(file);
    const std::string content = read_text(small.path(file));
    touch(small.path(file));
    CHECK(small.digest() == before);
    small.write(file, content + "\n");
    CHECK(small.digest() != before);
    small.write(file, content);
    CHECK(small.digest() == before);
  }
}

TEST_CASE("a proof that held: is proved again when what was built, or a tool, is another") {
  const SmallLab small;
  for (const char* file :
       {"build/bin/judge-06", "build/adapter.o", "build/uses.o", "build/world.o", "build/room.a",
        "build/pch.hpp.gch", "build/pch.hpp.d", "build/contract.hpp", "build/c++"}) {
    INFO(file);
    const std::string before = small.digest();
    touch(small.path(file));
    CHECK(small.digest() != before);
  }
  const ProofInputs inputs = inputs_of_proof(small.lab, small.ring);
  CHECK(std::ranges::find(inputs.made, fs::path("/proc/self/exe")) != inputs.made.end());
}

TEST_CASE(
    "a proof that held: is proved again when an answer comes or goes, or the manifest asks for "
    "more") {
  SmallLab small;
  const std::string before = small.digest();
  small.write("tests/exercises/06_x/ring/alternatives/b.cpp", "");
  CHECK(small.digest() != before);
  fs::remove(small.path("tests/exercises/06_x/ring/alternatives/b.cpp"));
  CHECK(small.digest() == before);
  fs::remove(small.path("engine/other.hpp"));
  CHECK(small.digest() != before);
  small.write("engine/other.hpp", "engine/other.hpp");
  CHECK(small.digest() == before);
  small.write("exercises/06_x/ring.toml", "points = 12\n");
  CHECK(small.digest() != before);
}

TEST_CASE("a proof that held: is told again with its digest, and only with that") {
  const SmallLab small;
  CHECK_FALSE(remembered_proof(small.lab, small.ring, "1"));
  const ExerciseKills kills{.handle = "ring",
                            .checks = {"sums"},
                            .mutants = {{"tail_lost", "wrong answer", "tail_lost", {Mark::fails}}},
                            .alternatives = {"leftwards"},
                            .nothing_done = {}};
  remember_proof(small.lab, small.ring, "1", {"ring: it holds", kills});
  const auto known = remembered_proof(small.lab, small.ring, "1");
  REQUIRE(known);
  CHECK(known->sentence == "ring: it holds");
  CHECK(known->kills == kills);
  CHECK_FALSE(remembered_proof(small.lab, small.ring, "2"));
}
