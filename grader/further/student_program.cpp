#include "grader/further/student_program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/further/link_line.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// All that a link depends on: its words, and the state of the files among them.
std::string key_of(const std::vector<std::string>& words, const fs::path& folder) {
  std::string all;
  for (const std::string& word : words) {
    std::error_code absent;
    const fs::path file = folder / word;
    const auto time = fs::last_write_time(file, absent).time_since_epoch().count();
    all += absent ? word : text(word, " ", time, " ", fs::file_size(file, absent));
    all += "\n";
  }
  return text(checksum_of(std::as_bytes(std::span(all))));
}

// Which file this is, whatever it is called: another command may put another in its place.
std::string identity_of(const fs::path& program) {
  struct stat file {};
  if (::stat(program.c_str(), &file) != 0) return "none";
  return text(file.st_ino, " ", file.st_size, " ", file.st_mtim.tv_sec, " ", file.st_mtim.tv_nsec);
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
  const std::vector<fs::path> objects = kept_objects(lab_, parts);
  for (std::size_t at = 0; at < parts.size(); ++at) {
    exchanges.push_back({parts[at].part, objects[at]});
  }
  const fs::path program = lab_.places.students() / file;
  const fs::path note = program.string() + ".linked";
  const std::string key = key_of(relinked(commands_, exchanges, program), lab_.places.build);
  const auto noted = [&](const fs::path& of) { return text(key, " ", identity_of(of), "\n"); };
  if (fs::is_regular_file(note) && read_text(note) == noted(program)) return program;
  // Two commands may link the same at once: each does so by itself and moves the program into place
  // when it is whole.
  const fs::path unfinished = text(program.string(), "-", ::getpid());
  const CommandResult link = run_command(relinked(commands_, exchanges, unfinished),
                                         lab_.places.build, {.deadline_s = 60, .work_s = 60});
  if (link.exit_code != 0) {
    throw Error("linking " + name_ + " with your parts failed: " + link.output);
  }
  const std::string linked = noted(unfinished);
  fs::rename(unfinished, program);
  write_text(note, linked);
  return program;
}

}  // namespace lockstep::grader
