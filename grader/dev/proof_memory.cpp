#include "grader/dev/proof_memory.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <span>
#include <sstream>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "grader/course/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

fs::path note_of(const Lab& lab, const Exercise& exercise) {
  return lab.places.build / "proofs" / (exercise.address() + ".held");
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

// The files, and every header of the repository that they include, through however many. Lines of
// mutants count as well.
std::vector<fs::path> with_headers(const fs::path& root, std::vector<fs::path> files) {
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
// c.hpp \".
std::vector<fs::path> read_for(const fs::path& precompiled) {
  const fs::path list = precompiled.string() + ".d";
  std::vector<fs::path> files{list, precompiled.string() + ".gch"};
  if (!fs::exists(list)) return files;
  std::istringstream words(read_text(list));
  for (std::string word; words >> word;) {
    if (word != "\\" && !word.ends_with(":")) files.emplace_back(word);
  }
  return files;
}

// Compiler and linkers, as the machine has them.
std::vector<fs::path> tools_of(const Recipe& recipe) {
  std::vector<fs::path> tools{recipe.compiler};
  for (const char* folder : {"/usr/bin", "/usr/local/bin"}) {
    for (const char* tool : {"mold", "ld", "as"}) tools.push_back(fs::path(folder) / tool);
  }
  for (fs::path& tool : tools) {
    std::error_code absent;
    const fs::path itself = fs::canonical(tool, absent);
    if (!absent) tool = itself;
  }
  return tools;
}

std::string hex(const std::string& bytes) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(checksum_of(std::as_bytes(std::span(bytes)))));
  return digits;
}

}  // namespace

ProofInputs inputs_of_proof(const Lab& lab, const Exercise& exercise) {
  const Places& places = lab.places;
  ProofInputs inputs;
  inputs.words = exercise.address();
  std::vector<fs::path> answers{places.solution(exercise), places.stub(exercise),
                                places.manifest(exercise), places.root / exercise.header};
  const auto judged = files_below(places.root / "tests" / "exercises" / exercise.address());
  answers.insert(answers.end(), judged.begin(), judged.end());
  inputs.written = with_headers(places.root, std::move(answers));
  inputs.written.push_back(places.recipe(exercise));

  const Recipe recipe = recipe_for(read_recipe(places.recipe(exercise)), PlayerKind::usual);
  const auto add = [&made = inputs.made](const std::vector<fs::path>& files) {
    made.insert(made.end(), files.begin(), files.end());
  };
  add({"/proc/self/exe", places.judge(exercise)});
  add(recipe.objects);
  add(recipe.libraries);
  if (!recipe.pch.empty()) add(read_for(recipe.pch));
  add(tools_of(recipe));
  return inputs;
}

std::string digest_of(const ProofInputs& inputs) {
  std::string all = inputs.words + "\n";
  for (const fs::path& file : inputs.written) {
    const std::string content = fs::is_regular_file(file) ? read_text(file) : "absent";
    all += text(file.string(), " ", content.size(), " ", hex(content), "\n");
  }
  for (const fs::path& file : inputs.made) {
    std::error_code absent;
    const auto time = fs::last_write_time(file, absent).time_since_epoch().count();
    all += text(file.string(), " ", time, " ", fs::file_size(file, absent), "\n");
  }
  return hex(all);
}

std::optional<RememberedProof> remembered_proof(const Lab& lab, const Exercise& exercise,
                                                const std::string& digest) {
  const fs::path note = note_of(lab, exercise);
  if (!fs::is_regular_file(note)) return std::nullopt;
  const std::string content = read_text(note);
  if (!content.starts_with(digest + "\n")) return std::nullopt;
  const std::size_t begin = digest.size() + 1, end = content.find('\n', begin);
  if (end == std::string::npos) return std::nullopt;
  try {
    return RememberedProof{content.substr(begin, end - begin),
                           read_kills(std::string_view(content).substr(end + 1))};
  } catch (const UsageError&) {
    return std::nullopt;  // half written
  }
}

void remember_proof(const Lab& lab, const Exercise& exercise, const std::string& digest,
                    const RememberedProof& proof) {
  write_text(note_of(lab, exercise),
             digest + "\n" + proof.sentence + "\n" + kills_text(proof.kills));
}

}  // namespace lockstep::grader
