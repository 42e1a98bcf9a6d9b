// A lab of one exercise, with a file of each kind that its proof depends on.
#pragma once

#include <string>

#include "engine/base/text.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/memory/trial.hpp"
#include "tests/course/scratch.hpp"

namespace lockstep::test {

struct SmallLab {
  SmallLab() {
    lab.places = {scratch.path(), scratch.path() / "build"};
    ring.name = "ring";
    ring.lesson = ring.reading = "06_x";
    ring.header = "engine/ring.hpp";
    ring.symbols = {"ring()"};
    for (const char* file : {"solutions/06_x/ring.cpp",
                             "exercises/06_x/ring.cpp",
                             "exercises/06_x/ring.toml",
                             "engine/below.hpp",
                             "engine/group.hpp",
                             "engine/other.hpp",
                             "tests/exercises/06_x/ring/contract.toml",
                             "build/bin/judge-06",
                             "build/adapter.o",
                             "build/uses.o",
                             "build/world.o",
                             "build/room.a",
                             "build/pch.hpp",
                             "build/plain.hpp",
                             "build/contract.hpp",
                             "build/a space.hpp",
                             "build/cc1plus",
                             "build/libstdc++.a",
                             "build/libgcc.a",
                             "build/libc.a"}) {
      write(file, file);
    }
    write("engine/ring.hpp", "#include \"engine/below.hpp\"\n");
    write("tests/exercises/06_x/ring/mutants.toml",
          "put = '''\n#include \"engine/group.hpp\"\n'''\n");
    write("tests/exercises/06_x/ring/alternatives/a.cpp", "#include \"engine/other.hpp\"\n");
    const std::string build = path("build").string() + "/";
    write("build/pch.hpp.d",
          "pch.hpp.gch: \\\n " + build + "contract.hpp " + build + "a\\ space.hpp \\\n");
    write("build/c++", "#!/bin/sh\necho \"${0%/*}/${1#*=}\"\n");  // -print-file-name=NAME
    std::filesystem::permissions(path("build/c++"), std::filesystem::perms::owner_all);
    write("build/recipes/ring.recipe",
          "compiler " + build + "c++\npch " + build + "pch.hpp\nplain_header " + build +
              "plain.hpp\ncompile_flag -I" + scratch.path().string() + "\nobject " + build +
              "adapter.o\nobject " + build + "uses.o\nsimulated_object " + build +
              "world.o\nlibrary " + build + "room.a\n");
  }
  std::filesystem::path path(const std::string& file) const { return scratch.path() / file; }
  void write(const std::string& file, const std::string& content) const {
    grader::write_text(path(file), content);
  }
  grader::Trial trial() const { return grader::trial_of_answers(lab, ring, "proof of 06_x/ring"); }
  std::string digest() const { return grader::digest_of(lab.places, trial()); }

  Scratch scratch;
  grader::Lab lab;
  grader::Exercise ring;
};

}  // namespace lockstep::test
