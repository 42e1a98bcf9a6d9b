#include "grader/lab/student_program.hpp"

#include "engine/base/error.hpp"
#include "grader/course/command.hpp"
#include "grader/course/link_line.hpp"
#include "grader/course/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// The file's object with the engine's optimisation. The precompiled header belongs to another
// level of optimisation (g++ 12 reads it all the same, and crashes): its plain text is read
// instead.
fs::path object_of(const Lab& lab, const Replacement& replacement, const std::string& program) {
  if (replacement.source.extension() == ".o") return replacement.source;  // the students' edition
  const Exercise& part = *replacement.part;
  Recipe recipe = read_recipe(lab.places.recipe(part));
  recipe.compile_flags.insert(recipe.compile_flags.end(), {"-O3", "-DNDEBUG"});
  recipe.pch = recipe.plain_header;
  const fs::path object = lab.places.students() / (program + "." + part.name + ".o");
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
  std::vector<Exchange> exchanges;
  for (const Replacement& each : parts) {
    exchanges.push_back({each.part, object_of(lab_, each, file)});
  }
  fs::path program = lab_.places.students() / file;
  const CommandResult link =
      run_command(relinked(commands_, exchanges, program), lab_.places.build, {.deadline_s = 60});
  if (link.exit_code != 0) {
    throw Error("linking " + name_ + " with your parts failed: " + link.output);
  }
  return program;
}

}  // namespace lockstep::grader
