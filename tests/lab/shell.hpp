// ./lab with programs in the places of the lab's and of the build's that only say how they were
// called.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

namespace lockstep::test {

namespace fs = std::filesystem;
using grader::CommandResult, grader::read_text, grader::run_command, grader::write_text;

struct Programs {
  Programs() {
    program("train", "echo train \"$@\"");
    program("lockstep-run", "echo lockstep-run \"$@\"");
    program("sim", "echo sim \"$@\"");
    program("lab-tool", "echo lab-tool \"$@\"");
    program("lab-further", "echo lab-further \"$@\"");
    program("lab-dev", "echo lab-dev \"$@\"");
  }
  const fs::path& folder() const { return scratch.path(); }
  void program(const std::string& name, const std::string& line) const {
    const fs::path file = folder() / "bin" / name;
    write_text(file, "#!/bin/sh\n" + line + "\n");
    fs::permissions(file, fs::perms::owner_all);
  }
  CommandResult lab(std::vector<std::string> words) const {
    words.insert(words.begin(), {LOCKSTEP_ROOT "/lab", "--built", folder().string()});
    return run_command(words, folder(), patient);
  }
  Scratch scratch;
};

// A root in which nothing is built, with a ninja and a cmake that are scripts.
struct Root {
  Root() {
    program("cmake",
            "echo \"$*\" >>asked\n" + cache_of("$PWD", "Ninja") + ": >build/release/build.ninja");
    program("ninja", ":");
    fs::create_directories(folder());
  }
  fs::path folder() const { return scratch.path() / "build/release"; }
  void program(const std::string& name, const std::string& lines) const {
    write_text(scratch.path() / name, "#!/bin/sh\n" + lines + "\n");
    fs::permissions(scratch.path() / name, fs::perms::owner_all);
  }
  // The line that writes a cache.
  static std::string cache_of(const std::string& source, const std::string& generator) {
    return "printf '%s\\n' CMAKE_GENERATOR:INTERNAL=\"" + generator +
           "\" CMAKE_HOME_DIRECTORY:INTERNAL=\"" + source + "\" >build/release/CMakeCache.txt\n";
  }
  // What setup/build.sh is given before these lines, which use it.
  CommandResult run(const std::string& lines) const {
    const std::string root = fs::canonical(scratch.path()).string();
    return run_command({"sh", "-euc",
                        "root=" + root + "; PATH=" + root +
                            ":$PATH; preset=release; as_built=no; say() { echo \"$*\" >&2; }\n"
                            "fail() { code=$1; shift; say \"lab: $*\"; exit \"$code\"; }\n"
                            "packages_known() { :; }\n. " LOCKSTEP_ROOT "/setup/build.sh\n" +
                            lines},
                       scratch.path(), patient);
  }
  // How cmake was called since this was asked last.
  std::string asked() const {
    const fs::path file = scratch.path() / "asked";
    const std::string all = fs::exists(file) ? read_text(file) : "";
    fs::remove(file);
    return all;
  }
  Scratch scratch;
};

}  // namespace lockstep::test
