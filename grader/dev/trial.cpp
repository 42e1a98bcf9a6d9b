#include "grader/dev/trial.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <span>
#include <sstream>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "grader/course/command.hpp"
#include "grader/course/text_file.hpp"
#include "grader/dev/impostors.hpp"
#include "grader/dev/liars.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<fs::path>;

// The files, and every header of the repository that they include, through however many. Lines of
// mutants count as well.
Files with_headers(const fs::path& root, Files files) {
  const std::string directive = "#include \"";
  std::set<fs::path> known(files.begin(), files.end());
  for (std::size_t at = 0; at < files.size(); ++at) {
    if (!fs::is_regular_file(files[at])) continue;
    std::istringstream lines(read_text(files[at]));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(directive)) continue;
      const std::size_t begin = directive.size();
      const fs::path header = root / line.substr(begin, line.find('"', begin) - begin);
      if (fs::exists(header) && known.insert(header).second) files.push_back(header);
    }
  }
  return files;
}

// The files that the compiler noted to have read for the precompiled header: "a.gch: \", " b.hpp
// c\ d.hpp \".
Files read_for(const fs::path& precompiled) {
  const fs::path list = precompiled.string() + ".d";
  if (!fs::exists(list)) return {list};
  Files files;
  std::istringstream words(read_text(list));
  for (std::string word, rest; words >> word;) {
    while (word.size() > 1 && word.ends_with("\\") && words >> rest)
      word.back() = ' ', word += rest;
    if (word != "\\" && !word.ends_with(":")) files.emplace_back(word);
  }
  return files;
}

// Compiler, assembler and linkers, and what of theirs is in every player. The headers of the
// standard library come with it and with the compiler.
Files tools_of(const Recipe& recipe) {
  const CommandResult found = run_command(
      {"sh", "-c", "for name in $1; do \"$0\" -print-file-name=$name; done", recipe.compiler,
       "cc1plus collect2 libstdc++.a libgcc.a libgcc_eh.a libm.a libc.a crt1.o crti.o crtn.o "
       "crtbeginT.o crtend.o"},
      "/", {});
  Files tools{recipe.compiler};
  std::istringstream lines(found.output);
  for (std::string line; std::getline(lines, line);) tools.emplace_back(line);
  for (const char* folder : {"/usr/bin", "/usr/local/bin"}) {
    for (const char* tool : {"mold", "ld", "as", "nm"}) tools.push_back(fs::path(folder) / tool);
  }
  for (fs::path& tool : tools) {
    std::error_code absent;
    const fs::path itself = fs::canonical(tool, absent);
    if (!absent) tool = itself;
  }
  return tools;
}

void add(Files& files, const Files& more) { files.insert(files.end(), more.begin(), more.end()); }

// The recipe's text, whatever folders its paths begin with.
std::string without_folders(const Places& places, std::string recipe) {
  for (const fs::path& folder : {places.build, places.root}) {
    for (std::size_t at = 0; (at = recipe.find(folder.string(), at)) != std::string::npos;) {
      recipe.replace(at, folder.string().size(), folder == places.build ? "<build>" : "<root>");
    }
  }
  return recipe;
}

}  // namespace

Files files_below(const fs::path& folder) {
  Files files;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

Trial trial_of_answers(const Lab& lab, const Exercise& exercise, const std::string& what) {
  const Places& places = lab.places;
  Files answers{places.solution(exercise), places.stub(exercise), places.manifest(exercise),
                places.root / exercise.header};
  add(answers, files_below(places.root / "tests" / "exercises" / exercise.address()));
  Trial trial{what, with_headers(places.root, std::move(answers))};
  const Recipe recipe = recipe_for(read_recipe(places.recipe(exercise)), PlayerKind::usual);
  add(trial.files, {places.recipe(exercise), "/proc/self/exe", places.judge(exercise)});
  add(trial.files, recipe.objects);
  add(trial.files, recipe.libraries);
  if (!recipe.pch.empty()) add(trial.files, read_for(recipe.pch));
  add(trial.files, {recipe.pch, recipe.plain_header});
  add(trial.files, tools_of(recipe));
  return trial;
}

Trial trial_of_impostors(const Lab& lab, const Exercise& exercise) {
  const Places& places = lab.places;
  Trial trial{"impostors", {places.manifest(exercise), "/proc/self/exe", places.judge(exercise)}};
  for (const char* kind : impostor_kinds) trial.files.push_back(places.impostor(kind));
  for (const Liar& liar : liars_of(exercise)) trial.files.push_back(places.impostor(liar.kind()));
  return trial;
}

std::string hash_of(const std::string& content) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(checksum_of(std::as_bytes(std::span(content)))));
  return digits;
}

std::string digest_of(const Places& places, const Trial& trial) {
  std::set<std::string> lines;
  for (const fs::path& file : trial.files) {
    const bool there = fs::is_regular_file(file);
    std::string content = there ? read_text(file) : "";
    if (file.extension() == ".recipe") content = without_folders(places, std::move(content));
    lines.insert(text("\n", places.shown(file), there ? " " : " absent ", hash_of(content)));
  }
  std::string all = trial.what;
  for (const std::string& line : lines) all += line;
  return hash_of(all);
}

}  // namespace lockstep::grader
