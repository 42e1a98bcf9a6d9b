#include "grader/pack/built_files.hpp"

#include <algorithm>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string last_line_of(const std::string& output) {
  const std::size_t end = output.find_last_not_of('\n');
  const std::size_t begin = output.rfind('\n', end);
  return output.substr(begin + 1, end - begin);
}

}  // namespace

std::string ran(const std::vector<std::string>& words, const fs::path& folder) {
  const CommandResult result =
      run_command(words, folder, {.deadline_s = 300, .output_bytes = 4 << 20});
  if (result.exit_code != 0) throw Error(words.front() + " failed: " + result.output);
  return result.output;
}

BuiltFiles::BuiltFiles(const Lab& lab, fs::path folder)
    : lab_(lab), folder_(std::move(folder)), to_(folder_ / "build" / "release") {}

fs::path BuiltFiles::built(const fs::path& below_build) const {
  const fs::path file = (lab_.places.build / below_build).lexically_normal();
  if (fs::is_regular_file(file)) return file;
  throw UsageError(text("there is no ", lab_.places.shown(file), ": build the lab first"));
}

void BuiltFiles::copy(const fs::path& file) {
  copy(file, file.lexically_relative(lab_.places.build).lexically_normal());
}

void BuiltFiles::copy(const fs::path& file, const fs::path& below) {
  const fs::path to = to_ / below;
  if (fs::exists(to)) return;
  fs::create_directories(to.parent_path());
  fs::copy_file(file, to);
  const std::string kind = file.extension().string();
  auto& copies = kind == ".o" || kind == ".a"              ? objects_
                 : below.parent_path().filename() == "bin" ? programs_
                                                           : others_;
  copies.insert(to.lexically_relative(folder_));
}

void BuiltFiles::program(const std::string& name, const std::string& as) {
  copy(built(fs::path("bin") / name), fs::path("bin") / as);
}

void BuiltFiles::links(const std::string& name, const std::string& as) {
  const std::string command = last_line_of(
      ran({"ninja", "-C", lab_.places.build.string(), "-t", "commands", name}, lab_.places.root));
  const fs::path list = to_ / "links" / as;
  write_text(list, command + "\n");
  others_.insert(list.lexically_relative(folder_));
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    const fs::path file = lab_.places.build / word;
    const std::string kind = file.extension().string();
    if (fs::path(word).is_relative() && (kind == ".o" || kind == ".a")) copy(built(word));
  }
}

void BuiltFiles::recipe(const Exercise& part) {
  const std::string from = lab_.places.build.string(), mark = edition_mark;
  std::istringstream lines(read_text(lab_.places.recipe(part)));
  std::string written;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("gpu_") || line.starts_with("paper_")) continue;
    written += line + "\n";
    const fs::path file = line.substr(line.find(' ') + 1);
    if (file.is_absolute() && file.string().starts_with(from)) {
      copy(built(file.lexically_relative(lab_.places.build)));
    }
  }
  const fs::path to = to_ / "recipes" / (part.name + ".recipe");
  write_text(to, replaced(replaced(written, from, mark + "/build/release"),
                          lab_.places.root.string(), mark));
  others_.insert(to.lexically_relative(folder_));
}

void BuiltFiles::mistakes(const Exercise& part) {
  const fs::path program = lab_.places.mistakes(part).lexically_relative(lab_.places.build);
  for (const char* file : {".o", ".list"}) copy(built(program.string() + file));
}

void BuiltFiles::broken_object(const Exercise& part, const fs::path& source) {
  Recipe recipe = read_recipe(lab_.places.recipe(part));
  recipe.compile_flags.insert(recipe.compile_flags.end(), {"-O3", "-DNDEBUG"});
  recipe.pch = recipe.plain_header;
  fs::path object = folder_ / source.lexically_relative(lab_.places.root);
  object.replace_extension(".o");
  fs::create_directories(object.parent_path());
  const StudentBuild build =
      compile_student(lab_.places, recipe, part, source, object, Paint::plain);
  if (!build.cause.empty()) throw Error(build.message + "\n" + build.compiler);
  objects_.insert(object.lexically_relative(folder_));
}

void BuiltFiles::strip(const std::string& how, const std::set<fs::path>& files) const {
  if (files.empty()) return;
  std::vector<std::string> words{"strip", how};
  for (const fs::path& file : files) words.push_back(file.string());
  ran(words, folder_);
}

// The folder on the instructor's machine that __FILE__ begins with, by a name as long.
void BuiltFiles::forget_root(const std::set<fs::path>& files) const {
  const std::string root = lab_.places.root.string();
  const std::string nowhere = ("/lockstep" + std::string(root.size(), '_')).substr(0, root.size());
  for (const fs::path& file : files) {
    const std::string content = read_text(folder_ / file);
    const std::string without = replaced(content, root, nowhere);
    if (without != content) write_text(folder_ / file, without);
  }
}

std::string BuiltFiles::finish() {
  strip("--strip-all", programs_);
  strip("--strip-unneeded", objects_);
  forget_root(programs_);
  forget_root(objects_);
  std::vector<std::string> words{"sha256sum", "--"};
  for (const auto* files : {&programs_, &objects_, &others_}) {
    for (const fs::path& file : *files) words.push_back(file.string());
  }
  write_text(to_ / "sums", ran(words, folder_));
  return ran({"sha256sum", "--", (to_ / "sums").string()}, folder_).substr(0, 64);
}

}  // namespace lockstep::grader
