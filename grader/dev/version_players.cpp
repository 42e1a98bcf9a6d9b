#include "grader/dev/version_players.hpp"

#include <algorithm>
#include <string_view>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/proofs/object_symbols.hpp"
#include "grader/course/proofs/shared_unit.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// Together they need little more than one; but a unit that fails is compiled again.
constexpr std::size_t versions_max = 24;
constexpr CommandLimits unit_limits{
    .deadline_s = 60, .work_s = 120, .memory_bytes = std::size_t{2} << 30};

// True for the function that fills a file's variables before main begins, by the names of g++ and
// clang.
bool fills_variables(const Symbol& symbol) { return symbol.linked.starts_with("_GLOBAL__"); }

bool is_variable(const Symbol& symbol) {
  return std::string_view("bBdDuV").find(symbol.type) != std::string_view::npos;
}

}  // namespace

VersionPlayers::VersionPlayers(const Lab& lab, const Exercise& exercise, fs::path scratch)
    : lab_(lab),
      scratch_(std::move(scratch)),
      recipe_(recipe_for(read_recipe(lab.places.recipe(exercise)), PlayerKind::usual)) {
  fs::create_directories(scratch_);
  const fs::path solution = lab.places.solution(exercise), object = scratch_ / "reference.o";
  reference_ = compile_student(lab.places, recipe_, exercise, solution, object, Paint::plain);
  if (!reference_.cause.empty()) return;
  reference_ = link_player(lab.places, recipe_, lab.places.shown(solution), object,
                           scratch_ / "reference.player");
  if (!reference_.cause.empty()) return;
  names_ = linked_names(symbols_of(reference_.object), exercise.symbols);
}

VersionPlayers::~VersionPlayers() {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

void VersionPlayers::compile(const std::vector<fs::path>& files) {
  std::map<std::string, Versions> by_includes;
  for (const fs::path& file : files) {
    const std::string inner = text("version_", &file - files.data());
    if (auto part = unit_part(read_text(file), inner)) {
      by_includes[part->includes].push_back({file, inner, part->includes, std::move(part->body)});
    }
  }
  for (const auto& entry : by_includes) {
    const Versions& all = entry.second;
    const std::size_t units = (all.size() + versions_max - 1) / versions_max;
    for (std::size_t i = 0; i < units; ++i) {
      const auto at = [&](std::size_t unit) {
        return all.begin() + static_cast<std::ptrdiff_t>(all.size() * unit / units);
      };
      compile_unit(Versions(at(i), at(i + 1)));
    }
  }
}

void VersionPlayers::compile_unit(const Versions& versions) {
  if (versions.size() < 2) return;
  const fs::path source = scratch_ / text("unit_", units_++, ".cpp");
  const fs::path object = source.string() + ".o";
  std::vector<UnitPart> parts;
  std::vector<std::string> files;
  for (const Version& version : versions) {
    parts.push_back({version.includes, version.body});
    files.push_back(lab_.places.shown(version.file));
  }
  write_text(source, unit_of(parts, files));
  auto words = compile_words(recipe_, lab_.places.shown(source), object);
  words.insert(words.end(), {"-w", "-fmax-errors=0"});  // every version is to have its say
  const CommandResult result = run_command(words, lab_.places.root, unit_limits);
  std::optional<Versions> wrong;
  if (result.exit_code == 0) {
    wrong = take(versions, object);
    if (!wrong) return;
  } else if (!result.timed_out) {
    wrong = wrong_in(result.output, versions);
  }
  if (wrong && !wrong->empty()) {
    Versions rest = versions;
    std::erase_if(rest, [&](const Version& version) {
      return std::ranges::find(*wrong, version.file, &Version::file) != wrong->end();
    });
    return compile_unit(rest);
  }
  const auto middle = versions.begin() + static_cast<std::ptrdiff_t>(versions.size() / 2);
  compile_unit(Versions(versions.begin(), middle));
  compile_unit(Versions(middle, versions.end()));
}

VersionPlayers::Versions VersionPlayers::wrong_in(const std::string& output,
                                                  const Versions& versions) const {
  Versions wrong;
  for (const Version& version : versions) {
    const std::string place = "\n" + lab_.places.shown(version.file) + ":";
    if (("\n" + output).find(place) != std::string::npos) wrong.push_back(version);
  }
  return wrong;
}

std::optional<VersionPlayers::Versions> VersionPlayers::take(const Versions& versions,
                                                             const fs::path& object) {
  const auto symbols = symbols_of(object);
  if (std::ranges::any_of(symbols, fills_variables)) {
    Versions wrong = versions;
    std::erase_if(wrong, [&](const Version& version) {
      return std::ranges::none_of(symbols, [&](const Symbol& symbol) {
        return is_variable(symbol) && symbol.names(version.inner);
      });
    });
    return wrong;
  }
  std::vector<fs::path> taken;
  for (const Version& version : versions) {
    Shared shared{object, {}};
    for (const auto& [written, linked] : linked_names_of(symbols, version.inner)) {
      const auto name = names_.find(written);
      if (name == names_.end()) continue;
      shared.names.push_back("-Wl,--defsym=" + name->second + "=" + linked);
    }
    if (shared.names.size() != names_.size()) continue;  // it does not define the part
    shared_[version.file] = std::move(shared);
    taken.push_back(version.file);
  }
  if (taken.empty()) return std::nullopt;
  const StudentBuild first = *player_of(taken.front());
  if (first.cause.empty()) return std::nullopt;
  // A symbol that one of them uses is defined nowhere.
  for (const fs::path& file : taken) shared_.erase(file);
  Versions wrong;
  for (const Version& version : versions) {
    if (first.compiler.find(version.inner + "::") != std::string::npos) wrong.push_back(version);
  }
  return wrong;
}

std::optional<StudentBuild> VersionPlayers::player_of(const fs::path& file) const {
  const auto found = shared_.find(file);
  if (found == shared_.end()) return std::nullopt;
  Recipe recipe = recipe_;
  recipe.link_flags.insert(recipe.link_flags.end(), found->second.names.begin(),
                           found->second.names.end());
  return link_player(lab_.places, recipe, lab_.places.shown(file), found->second.object,
                     scratch_ / "shared.player");
}

}  // namespace lockstep::grader
