#include "grader/further/student_program.hpp"

#include <unistd.h>

#include "engine/base/error.hpp"
#include "engine/base/temporary_folder.hpp"
#include "grader/course/command.hpp"
#include "grader/course/text_file.hpp"
#include "grader/further/link_line.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// The file's object with the engine's optimisation, in this folder. The precompiled header belongs
// to another level of optimisation (g++ 12 reads it all the same, and crashes): its plain text is
// read instead.
fs::path object_of(const Lab& lab, const Replacement& replacement, const fs::path& folder) {
  if (replacement.source.extension() == ".o") return replacement.source;  // the students' edition
  const Exercise& part = *replacement.part;
  Recipe recipe = read_recipe(lab.places.recipe(part));
  recipe.compile_flags.insert(recipe.compile_flags.end(), {"-O3", "-DNDEBUG"});
  recipe.pch = recipe.plain_header;
  const fs::path object = folder / (part.name + ".o");
  const StudentBuild build =
      compile_student(lab.places, recipe, part, replacement.source, object, lab.paint);
  if (!build.cause.empty()) throw UsageError(build.message + "\n" + build.compiler);
  return object;
}

}  // namespace

StudentProgram::StudentProgram(const Lab& lab, std::string name)
    : lab_(lab), name_(std::move(name)) {
  if (lab.packed) {
    commands_ = read_text(lab.places.links(name_));
    return;
  }
  const CommandResult ninja = run_command(
      {"ninja", "-C", lab.places.build.string(), "-t", "commands", name_}, lab.places.root, {});
  if (ninja.exit_code != 0) {
    throw Error("the build does not know how to link " + name_ + ": " + ninja.output);
  }
  commands_ = ninja.output;
}

bool StudentProgram::has(const Exercise& part) const { return links_part(commands_, part); }

fs::path StudentProgram::link(const std::vector<Replacement>& parts,
                              const std::string& file) const {
  // Two commands may link the same at once: each does so by itself and moves the program into place
  // when it is whole.
  const TemporaryFolder folder("link");
  std::vector<Exchange> exchanges;
  for (const Replacement& each : parts) {
    exchanges.push_back({each.part, object_of(lab_, each, folder.path())});
  }
  fs::path program = lab_.places.students() / file;
  const fs::path unfinished = text(program.string(), "-", ::getpid());
  const CommandResult link = run_command(relinked(commands_, exchanges, unfinished),
                                         lab_.places.build, {.deadline_s = 60, .work_s = 60});
  if (link.exit_code != 0) {
    throw Error("linking " + name_ + " with your parts failed: " + link.output);
  }
  fs::rename(unfinished, program);
  return program;
}

}  // namespace lockstep::grader
