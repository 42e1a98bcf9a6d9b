#include "grader/batch/run/settings.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/batch/processes/digest.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

double above_zero(const std::string& name, const std::string& value) {
  std::size_t read = 0;
  double number = 0;
  try {
    number = std::stod(value, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read == 0 || read != value.size() || !(number > 0)) {
    throw UsageError("--limits " + name + "=" + value + ": pass a number above 0");
  }
  return number;
}

std::string version_of(const std::string& compiler) {
  const CommandResult told = run_command({compiler, "--version"}, "/", {});
  if (told.exit_code != 0) throw Error(text(compiler, " --version failed: ", told.output));
  return told.output;
}

void add_headers(const fs::path& folder, std::set<fs::path>& files) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".hpp") files.insert(entry.path());
  }
}

}  // namespace

void set_limits(const std::string& list, sim::PlayerLimits& player, ClassLimits& whole) {
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      throw UsageError("--limits " + part + ": write a limit with its number, such as case=10");
    }
    const std::string name = part.substr(0, equals);
    const double value = above_zero(name, part.substr(equals + 1));
    if (name == "idle") {
      player.idle_s = value;
    } else if (name == "case") {
      player.case_s = value;
    } else if (name == "cpu") {
      player.cpu_s = value;
    } else if (name == "memory") {
      player.memory_bytes = static_cast<std::int64_t>(value) << 20;
    } else if (name == "submission") {
      whole.submission_s = value;
    } else if (name == "student") {
      whole.student_s = value;
    } else {
      throw UsageError(
          "--limits " + name +
          ": the limits are idle, case, cpu, submission, student (seconds) and memory (MiB)");
    }
  }
}

nlohmann::json limits_record(const sim::PlayerLimits& player, const ClassLimits& whole) {
  return {{"idle_s", player.idle_s},
          {"case_s", player.case_s},
          {"cpu_s", player.cpu_s},
          {"memory_bytes", player.memory_bytes},
          {"submission_s", whole.submission_s},
          {"student_s", whole.student_s}};
}

void set_limits_from(const nlohmann::json& record, sim::PlayerLimits& player, ClassLimits& whole) {
  player.idle_s = record.at("idle_s");
  player.case_s = record.at("case_s");
  player.cpu_s = record.at("cpu_s");
  player.memory_bytes = record.at("memory_bytes");
  whole.submission_s = record.at("submission_s");
  whole.student_s = record.at("student_s");
}

std::map<std::string, std::string> lab_versions(const Lab& lab,
                                                const std::vector<const Exercise*>& exercises) {
  std::map<fs::path, std::string> known;  // most files are of many exercises
  const auto digest_of = [&](const fs::path& file) {
    const auto [at, first] = known.emplace(file, "");
    if (first) at->second = sha256(read_text(file));
    return file.string() + at->second;
  };
  std::map<std::string, std::string> compilers, versions;
  std::string headers;
  for (const Exercise* exercise : exercises) {
    std::string all = digest_of("/proc/self/exe");
    if (exercise->kind == Kind::quiz) {
      versions[exercise->address()] = sha256(all + digest_of(lab.places.quiz_key(*exercise)));
      continue;
    }
    const Recipe recipe = recipe_for(read_recipe(lab.places.recipe(*exercise)), PlayerKind::usual);
    std::set<fs::path> files{lab.places.recipe(*exercise), lab.places.judge(*exercise)};
    if (exercise->mistakes) {
      const fs::path mistakes = lab.places.mistakes(*exercise);
      files.insert({mistakes, mistakes.string() + ".list"});
    }
    files.insert(recipe.objects.begin(), recipe.objects.end());
    files.insert(recipe.libraries.begin(), recipe.libraries.end());
    for (const fs::path& file : files) all += digest_of(file);
    if (headers.empty()) {
      std::set<fs::path> in_engine;
      add_headers(lab.places.root / "engine", in_engine);
      for (const fs::path& file : in_engine) headers += digest_of(file);
    }
    const auto [compiler, first] = compilers.emplace(recipe.compiler, "");
    if (first) compiler->second = compiler->first + version_of(compiler->first);
    versions[exercise->address()] = sha256(all + headers + compiler->second);
  }
  return versions;
}

}  // namespace lockstep::grader
