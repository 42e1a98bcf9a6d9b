#include "grader/memory/trial.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <sstream>

#include "engine/base/bytes.hpp"
#include "engine/base/text.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"

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
  Files files{precompiled};
  if (!fs::exists(list)) return {precompiled, list};
  std::istringstream words(read_text(list));
  for (std::string word, rest; words >> word;) {
    while (word.size() > 1 && word.ends_with("\\") && words >> rest)
      word.back() = ' ', word += rest;
    if (word != "\\" && !word.ends_with(":")) files.emplace_back(word);
  }
  return files;
}

// Compiler, assembler, linkers, and what of theirs is in every player. They stand for what else
// comes with them: the library's headers, libm, the first and last objects of a link.
Files tools_of(const Recipe& recipe) {
  const char* find =
      "for name in cc1plus libstdc++.a libgcc.a libc.a; do "
      "\"$0\" -print-file-name=$name; done";
  std::istringstream found(run_command({"sh", "-c", find, recipe.compiler}, "/", {}).output);
  Files tools{recipe.compiler};
  for (std::string file; std::getline(found, file);) tools.emplace_back(file);
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

class Hashes {
 public:
  explicit Hashes(const Places& places) : places_(places), file_(places.build / "hashes.txt") {
    constexpr std::uintmax_t hashes_max = 4 << 20;  // bytes
    std::error_code absent;
    if (fs::file_size(file_, absent) > hashes_max && !absent) fs::remove(file_, absent);
    std::ifstream in(file_);
    for (std::string key, hash; std::getline(in, key, '\t') && std::getline(in, hash);) {
      if (hash.size() == hash_of("").size()) known_[key] = hash;  // else two wrote at once
    }
  }
  ~Hashes() {
    if (!found_.empty()) std::ofstream(file_, std::ios::app) << found_;
  }
  Hashes(const Hashes&) = delete;
  Hashes& operator=(const Hashes&) = delete;

  std::string of(const fs::path& file) {
    struct stat is {};
    if (::stat(file.c_str(), &is) != 0 || !S_ISREG(is.st_mode)) return "absent";
    if (file.extension() == ".recipe") return hash_of(without_folders(read_text(file)));
    const auto time = [](const timespec& at) { return text(at.tv_sec, ".", at.tv_nsec); };
    const std::string key = text(file.string(), " ", is.st_ino, " ", is.st_size, " ",
                                 time(is.st_mtim), " ", time(is.st_ctim));
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    std::string content(static_cast<std::size_t>(is.st_size), '\0');  // a compiler's is long
    std::ifstream(file, std::ios::binary).read(content.data(), is.st_size);
    const std::string hash = hash_of(content);
    // A file that was written just now may be written again within the same tick of its clock.
    if (is.st_ctim.tv_sec + 2 < std::time(nullptr)) found_ += text(key, "\t", hash, "\n");
    return hash;
  }

 private:
  std::string without_folders(std::string recipe) const {
    for (const std::string& folder : {places_.build.string(), places_.root.string()}) {
      for (std::size_t at; (at = recipe.find(folder)) != std::string::npos;) {
        recipe.replace(at, folder.size(), folder == places_.root ? "<root>" : "<build>");
      }
    }
    return recipe;
  }

  const Places& places_;
  const fs::path file_;
  std::map<std::string, std::string> known_;
  std::string found_;  // lines to be added to the file
};

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
  const Recipe recipe = recipe_for(read_recipe(places.recipe(exercise)), PlayerKind::usual);
  Files answers = files_below(places.root / "tests" / "exercises" / exercise.address());
  answers.insert(answers.end(), {places.solution(exercise), places.stub(exercise),
                                 places.manifest(exercise), places.root / exercise.header});
  Trial trial{what, with_headers(places.root, std::move(answers))};
  trial.files.insert(trial.files.end(), {places.recipe(exercise), recipe.plain_header,
                                         "/proc/self/exe", places.judge(exercise)});
  for (const Files& more : {recipe.objects, recipe.libraries, tools_of(recipe),
                            recipe.pch.empty() ? Files{} : read_for(recipe.pch)}) {
    trial.files.insert(trial.files.end(), more.begin(), more.end());
  }
  return trial;
}

std::string hash_of(const std::string& content) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(checksum_of(std::as_bytes(std::span(content)))));
  return digits;
}

std::string digest_of(const Places& places, const Trial& trial) {
  Hashes hashes(places);
  std::set<std::string> lines;
  for (const fs::path& file : trial.files) {
    lines.insert(text("\n", places.shown(file), " ", hashes.of(file)));
  }
  std::string all = trial.what;
  for (const std::string& line : lines) all += line;
  return hash_of(all);
}

}  // namespace lockstep::grader
