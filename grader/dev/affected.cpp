#include "grader/dev/affected.hpp"

#include <algorithm>
#include <fstream>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using NameSet = std::set<std::string>;

bool begins(const std::string& path, const std::string& with) { return path.rfind(with, 0) == 0; }

bool is_cpp(const std::string& path) { return path.ends_with(".cpp") || path.ends_with(".hpp"); }

std::string unit_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Their sources without a header are reached from one place only: the proof of a part, or a
// program.
bool is_private(const std::string& unit) {
  return begins(unit, "solutions/") || begins(unit, "tests/") || begins(unit, "grader/parts/") ||
         folder_of(unit) == "grader/play" || folder_of(unit) == "grader/lab" ||
         folder_of(unit) == "grader/further" || folder_of(unit) == "grader/dev" ||
         folder_of(unit) == "grader/tool";
}

// "tests/comm/x.cpp" → "comm"; "" where a path has no folder of tests of its own.
std::string tests_folder(const std::string& path) {
  const std::size_t end = path.find('/', 6);
  if (!begins(path, "tests/") || end == std::string::npos) return "";
  const std::string folder = path.substr(6, end - 6);
  return folder == "exercises" ? "" : folder;
}

// Tests that start programs: of the grader, which stand on the engine, and of the engine alone.
// Nothing that they start is in their #include lines.
NameSet tests_of_programs(const std::string& path) {
  if (begins(path, "tests/")) return {};
  if (begins(path, "grader/")) return {"tests/hostile", "tests/lab"};
  return {"tests/apps", "tests/bench", "tests/hostile", "tests/lab", "tests/launch", "tests/train"};
}
// The GPU's tests open these sources, which are in no #include line of theirs.
NameSet tests_that_open(const std::string& path) {
  const bool opened = begins(path, "engine/gpu/") || begins(path, "engine/paper/");
  const bool source = is_cpp(path) || path.ends_with(".cu") || path.ends_with(".cuh");
  return opened && source ? NameSet{"tests/gpu", "tests/paper"} : NameSet{};
}
// These read every file there is.
const NameSet tests_of_texts{"tests/house", "tests/lessons", "tests/course"};

class Graph {
 public:
  Graph(const IncludeLines& files, const Course& course) {
    std::map<std::string, NameSet> orphans;  // by folder
    for (const auto& [path, includes] : files) {
      const std::string unit = unit_of(path);
      if (begins(path, "tests/")) tests_[tests_folder(path)].insert(unit);
      for (const std::string& include : includes) users_[unit_of(include)].insert(unit);
      if (path.ends_with(".cpp") && !files.contains(unit + ".hpp") && !is_private(unit)) {
        orphans[folder_of(unit)].insert(unit);
      }
    }
    for (const auto& [path, includes] : files) {
      const auto found = orphans.find(folder_of(path));
      if (!path.ends_with(".hpp") || found == orphans.end()) continue;
      for (const std::string& orphan : found->second) users_[orphan].insert(unit_of(path));
    }
    for (const Exercise& exercise : course.exercises) add_exercise(exercise);
  }

  // Every unit that is built of `unit`, itself too.
  NameSet users_of(const std::string& unit) const {
    NameSet reached{unit};
    std::vector<std::string> open{unit};
    while (!open.empty()) {
      const auto found = users_.find(open.back());
      open.pop_back();
      if (found == users_.end()) continue;
      for (const std::string& user : found->second) {
        if (reached.insert(user).second) open.push_back(user);
      }
    }
    return reached;
  }

  NameSet labels_of(const NameSet& units) const {
    NameSet labels;
    for (const auto& [folder, sources] : tests_) {
      if (std::ranges::any_of(sources, [&](auto& s) { return units.contains(s); })) {
        labels.insert("tests/" + folder);
      }
    }
    for (const auto& [address, roots] : proofs_) {
      if (std::ranges::any_of(roots, [&](auto& r) { return units.contains(r); })) {
        labels.insert("proof of " + address);
      }
    }
    return labels;
  }

 private:
  void add_exercise(const Exercise& exercise) {
    NameSet& roots = proofs_[exercise.address()];
    const bool quiz = exercise.kind == Kind::quiz;
    roots.insert(quiz ? "grader/dev/quiz_proof" : "grader/dev/proof");
    if (quiz) return;
    const std::string solution = "solutions/" + exercise.address();
    const std::string part = "grader/parts/" + exercise.address();
    roots.insert({solution, part + "/exam", part + "/player", "grader/play/player_main"});
    // A unit that calls a part includes its header, and is linked with the reference.
    users_[solution].insert(unit_of(exercise.header));
  }

  std::map<std::string, NameSet> users_;   // unit → those that include it
  std::map<std::string, NameSet> tests_;   // folder → its units
  std::map<std::string, NameSet> proofs_;  // address → the units it is built of
};

// "tests/exercises/06_all_reduce/ring_all_reduce/mutants.toml" and the like → the address.
const Exercise* exercise_of(const std::string& path, const Course& course) {
  for (const Exercise& exercise : course.exercises) {
    if (begins(path, "tests/exercises/" + exercise.address() + "/")) return &exercise;
    for (const char* tree : {"exercises/", "solutions/"}) {
      const std::string stem = tree + exercise.address();
      if (path == stem + ".toml" || path == stem + ".cpp") {
        return &exercise;
      }
    }
  }
  return nullptr;
}

std::string listed(const NameSet& labels) {
  std::string all;
  for (const std::string& label : labels) all += (all.empty() ? "" : ", ") + label;
  return all.empty() ? "the texts" : all;
}

bool is_text(const std::string& path) {
  return path.ends_with(".md") || begins(path, "docs/") || begins(path, "lessons/");
}

}  // namespace

IncludeLines include_lines(const fs::path& root) {
  IncludeLines files;
  for (const char* tree : {"engine", "grader", "solutions", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / tree)) {
      const std::string path = entry.path().lexically_relative(root).generic_string();
      // The lab builds the files of tests/exercises and tests/hostile/answers, one by one.
      const bool answer =
          begins(path, "tests/exercises/") || begins(path, "tests/hostile/answers/");
      if (!entry.is_regular_file() || !is_cpp(path) || answer) continue;
      auto& includes = files[path];
      std::ifstream lines(entry.path());
      for (std::string line; std::getline(lines, line);) {
        if (!begins(line, "#include \"")) continue;
        includes.push_back(line.substr(10, line.rfind('"') - 10));
      }
    }
  }
  return files;
}

Affected affected_by(const std::vector<std::string>& changed, const IncludeLines& files,
                     const Course& course) {
  Affected affected;
  const Graph graph(files, course);
  affected.labels = tests_of_texts;
  for (const std::string& path : changed) {
    NameSet labels;
    if (const Exercise* exercise = exercise_of(path, course)) {
      labels.insert("proof of " + exercise->address());
    }
    // The site shows texts and headers.
    const bool header = path.ends_with(".hpp") && files.contains(path);
    if (is_text(path) || header) labels.insert("tests/site");
    labels.merge(tests_that_open(path));
    if (files.contains(path)) {
      labels.merge(graph.labels_of(graph.users_of(unit_of(path))));
      labels.merge(tests_of_programs(path));
    } else if (const std::string folder = tests_folder(path); !folder.empty()) {
      labels.insert("tests/" + folder);
    } else if (labels.empty()) {
      affected.all = true;
    }
    affected.why.push_back(text(path, ": ", affected.all ? "everything" : listed(labels)));
    if (affected.all) break;
    affected.labels.merge(labels);
  }
  return affected;
}

}  // namespace lockstep::grader
