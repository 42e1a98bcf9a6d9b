#include "grader/course/compile/student_build.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <span>
#include <sstream>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/compile/compiler_text.hpp"
#include "grader/course/compile/inspection.hpp"
#include "grader/course/compile/machine_code.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
// A compiler needs a quarter of this; a file that never ends must not take the machine with it. On
// a busy machine, 20 s of processor time take longer.
constexpr CommandLimits build_limits{.deadline_s = 60,
                                     .work_s = 60,
                                     .flood_bytes = 16 << 20,
                                     .memory_bytes = std::size_t{2} << 30,
                                     .cpu_s = 20};
constexpr std::size_t players_kept = 40;

// Everything the player is a function of: the source and its name (it is in every diagnosis), the
// recipe, and the state of the files that are linked.
std::string key_of(const Recipe& recipe, const std::string& shown, const std::string& source,
                   const std::string& recipe_text) {
  std::string all = shown + "\n" + source + "\n" + recipe_text;
  const auto add = [&](const fs::path& file) {
    std::error_code absent;
    const auto time = fs::last_write_time(file, absent).time_since_epoch().count();
    all += text(file.string(), " ", time, " ", fs::file_size(file, absent), "\n");
  };
  for (const fs::path& file : recipe.objects) add(file);
  for (const fs::path& file : recipe.libraries) add(file);
  if (!recipe.pch.empty()) add(recipe.pch.string() + ".gch");
  char key[17];
  std::snprintf(key, sizeof key, "%016llx",
                static_cast<unsigned long long>(checksum_of(std::as_bytes(std::span(all)))));
  return key;
}

void check_defines_symbols(const Exercise& exercise, const std::string& shown,
                           const BuildTool& tool, StudentBuild& build) {
  const CommandResult nm =
      tool({"nm", "-C", "--defined-only", build.object.string()}, {build.object});
  const bool cut = nm.flooded || nm.output.size() >= nm.limits.output_bytes;
  if (nm.exit_code != 0 && !cut) {
    build.cause = "unreadable_object";
    build.message = "nm cannot read what the compiler made of " + shown;
    build.compiler = shortened(nm.output);
    build.blame = Blame::unclear;
  } else if (const auto why = missing_symbol(nm.output, exercise.symbols, shown, exercise.header)) {
    build.cause = cut ? "unreadable_object" : "missing_symbol";
    build.message = cut ? text("the names of what ", shown, " defines take more than ",
                               nm.limits.output_bytes >> 10, " KiB, and so they are not looked at")
                        : *why;
  }
}

void link(const Recipe& recipe, const std::string& shown, const BuildTool& tool,
          StudentBuild& build) {
  std::vector<std::string> argv{recipe.compiler};
  argv.insert(argv.end(), recipe.link_flags.begin(), recipe.link_flags.end());
  // Whatever the object says of its stack, and however a linker saves space: only instructions run,
  // and no page of theirs holds data.
  argv.insert(argv.end(), {"-Wl,-z,noexecstack", "-Wl,-z,separate-code"});
  argv.push_back(build.object.string());
  for (const fs::path& object : recipe.objects) argv.push_back(object.string());
  argv.push_back("-Wl,--start-group");
  for (const fs::path& library : recipe.libraries) argv.push_back(library.string());
  argv.push_back("-Wl,--end-group");
  const fs::path unfinished = build.object.string() + ".player";
  argv.insert(argv.end(), {"-o", unfinished.string()});
  std::vector<fs::path> reads{build.object};
  reads.insert(reads.end(), recipe.objects.begin(), recipe.objects.end());
  reads.insert(reads.end(), recipe.libraries.begin(), recipe.libraries.end());
  const CommandResult result = tool(argv, reads);
  build.link_s = result.seconds;
  if (result.exit_code == 0) {
    fs::rename(unfinished, build.player);
    return;
  }
  build.cause = "link";
  build.message = "linking " + shown + " failed: " + link_error(result.output);
  build.compiler = shortened(result.output);
  const std::string name = build.object.filename().string() + ":";
  const bool names_it = result.output.find(name) != std::string::npos;
  const bool by_itself = result.exit_code == 1 && !gave_up(result.output);
  build.blame = names_it && by_itself ? Blame::the_file : Blame::unclear;
}

// A compiler that is killed at this limit says so in many ways; its processor time says it in one.
bool used_up_its_time(const CommandResult& result) {
  constexpr double nearly = 0.9;
  const auto limit = static_cast<double>(result.limits.cpu_s);
  return limit > 0 && result.processor_s >= nearly * limit;
}

// Explains why a compiler failed, and whose doing it is.
void explain(const CommandResult& result, const std::string& shown, StudentBuild& build) {
  if (result.flooded) {
    build.cause = "compile_time";
    build.message = text("compiling ", shown, " printed more than ",
                         result.limits.flood_bytes >> 20, " MiB of warnings and errors");
  } else if (used_up_its_time(result)) {
    build.cause = "compile_time";
    build.message = text("compiling ", shown, " used up the ", result.limits.cpu_s,
                         " s of processor time that it may have");
  } else if (result.timed_out) {
    build.cause = "compile_time";
    build.message = text("compiling ", shown, " took more than ", result.limits.deadline_s, " s");
    build.blame = Blame::unclear;
  } else if (gave_up(result.output) || !finds_errors_in(result.output, shown)) {
    build.cause = "compiler_gave_up";
    build.message = first_error(result.output, shown);
    build.blame = Blame::unclear;
  } else {
    build.cause = "syntax";
    build.message = first_error(result.output, shown);
    if (result.exit_code != 1) build.blame = Blame::unclear;
  }
}

void forget_old_players(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> players;  // when they were used last
  std::error_code gone;  // another check may be tidying up as well
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::minutes(5);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& file = entry.path();
    const bool part = file.extension() == ".o" || file.stem().extension() == ".o";
    if (!part && file.extension() == ".player") {
      players.emplace_back(fs::last_write_time(file, gone), file);
    }
    // The remains of a build that was ended in the middle are removed.
    if (part && fs::last_write_time(file, gone) < long_ago) fs::remove(file, gone);
  }
  if (players.size() <= players_kept) return;
  std::sort(players.begin(), players.end());
  players.resize(players.size() - players_kept);
  for (auto& [time, player] : players) {
    fs::remove(player, gone);
    fs::remove(player.replace_extension(".log"), gone);
  }
}

// Returns true if the player is there. From then on it is among those used last, which no other
// check of the same exercise forgets while this one needs it.
bool is_kept(const fs::path& player) {
  std::error_code missing;
  fs::last_write_time(player, fs::file_time_type::clock::now(), missing);
  return !missing || fs::exists(player);  // another user's stays as it is
}

// Which sources are searched for machine code: each on the whole way to its object, or those that
// look like it, and only before they are compiled with the precompiled header.
enum class Look : unsigned char { at_each, at_suspects };
struct Looked {
  Look look;
  std::string content;  // of the source
};

CommandResult compile_unsearched(const Recipe& recipe, const std::string& shown,
                                 const fs::path& object, const std::vector<std::string>& paint,
                                 const BuildTool& tool, StudentBuild& build) {
  std::vector<fs::path> reads;
  std::vector<std::string> argv = compile_words(recipe, shown, object);
  if (!recipe.pch.empty()) reads = {recipe.pch, recipe.pch.string() + ".gch"};
  argv.insert(argv.end(), paint.begin(), paint.end());
  CommandResult result = tool(argv, reads);
  build.compile_s += result.seconds;
  return result;
}

StudentBuild compile(const Places& places, const Recipe& recipe, const Exercise& exercise,
                     const fs::path& source, const fs::path& object, Paint paint,
                     const BuildTool& tool, const Looked& looked) {
  StudentBuild build;
  build.object = object;
  const std::string shown = places.shown(source);
  if (const auto hidden = hidden_bytes_in(looked.content, shown)) {
    build.cause = "hidden_bytes";
    build.message = *hidden;
    return build;
  }
  const bool each = looked.look == Look::at_each;
  Inspection inspection(recipe, object, tool, build);
  const bool searched =
      (each || may_hold_machine_code(looked.content)) &&
      inspection.look_at(shown, places.root / "grader/course/compile/student_headers.hpp");
  if (!build.cause.empty()) return build;
  const std::vector<std::string> flags(paint == Paint::colour ? 1 : 0,
                                       "-fdiagnostics-color=always");
  const CommandResult result = searched && each
                                   ? inspection.compile(shown, flags)
                                   : compile_unsearched(recipe, shown, object, flags, tool, build);
  build.compiler = shortened(readable_diagnostics(result.output, shown, places.root.string()));
  if (!build.cause.empty()) return build;
  if (result.timed_out || result.exit_code != 0) {
    explain(result, shown, build);
  } else if (each && !searched) {
    build.cause = "compiler_gave_up";
    build.message = shown + " can be compiled but not preprocessed, so it could not be searched";
    build.blame = Blame::unclear;
  } else {
    check_defines_symbols(exercise, shown, tool, build);
  }
  return build;
}

}  // namespace

BuildTool openly(const Places& places) {
  return [&places](const std::vector<std::string>& argv, const std::vector<fs::path>&) {
    return run_command(argv, places.root, build_limits);
  };
}

std::vector<std::string> compile_words(const Recipe& recipe, const std::string& shown,
                                       const fs::path& object) {
  // The messages are read by programs, too: in one language, whatever the student's.
  std::vector<std::string> argv{"env", "LC_ALL=C.UTF-8", recipe.compiler};
  argv.insert(argv.end(), recipe.compile_flags.begin(), recipe.compile_flags.end());
  if (!recipe.pch.empty()) argv.insert(argv.end(), {"-include", recipe.pch.string()});
  argv.insert(argv.end(), {"-fdiagnostics-color=never", "-c", shown, "-o", object.string()});
  return argv;
}

StudentBuild link_player(const Places& places, const Recipe& recipe, const std::string& shown,
                         const fs::path& object, const fs::path& player) {
  StudentBuild build;
  build.object = object;
  build.player = player;
  link(recipe, shown, openly(places), build);
  return build;
}

StudentBuild compile_student(const Places& places, const Recipe& recipe, const Exercise& exercise,
                             const fs::path& source, const fs::path& object, Paint paint) {
  return compile(places, recipe, exercise, source, object, paint, openly(places),
                 {Look::at_suspects, read_text(source)});
}

StudentBuild build_player(const Places& places, const Exercise& exercise, const fs::path& source,
                          const std::string& content, const fs::path& player,
                          const BuildTool& tool) {
  const Recipe recipe = recipe_for(read_recipe(places.recipe(exercise)), PlayerKind::usual);
  StudentBuild build = compile(places, recipe, exercise, source, player.string() + ".o",
                               Paint::plain, tool, {Look::at_each, content});
  build.player = player;
  if (build.cause.empty()) link(recipe, places.shown(source), tool, build);
  return build;
}

StudentBuild build_player_fairly(const Places& places, const Exercise& exercise,
                                 const std::string& content, const fs::path& player,
                                 const BuildTool& tool,
                                 const std::function<void(const std::string&)>& put) {
  const auto build = [&](const std::string& source) {
    for (const char* part : {"", ".o", ".o.player"}) fs::remove(player.string() + part);
    put(source);
    return build_player(places, exercise, places.work(exercise), source, player, tool);
  };
  StudentBuild first = build(content);
  if (first.cause.empty() || first.blame == Blame::the_file) return first;
  const StudentBuild stub = build(read_text(places.stub(exercise)));
  if (!stub.cause.empty()) {
    throw Error(text("the lab's own stub of ", exercise.name,
                     " cannot be built here either: ", stub.message, "\n", stub.compiler));
  }
  return build(content);
}

StudentBuild build_student(const Places& places, const Exercise& exercise, const fs::path& source,
                           Paint paint, PlayerKind kind) {
  const std::string content = read_text(source);
  const Recipe recipe = recipe_for(read_recipe(places.recipe(exercise)), kind);
  const std::string shown = places.shown(source);
  const fs::path folder = places.students() / exercise.name;
  fs::create_directories(folder);
  const std::string key = key_of(recipe, shown, content,
                                 text(static_cast<int>(kind), read_text(places.recipe(exercise))));
  const fs::path player = folder / (key + ".player");
  const fs::path log = folder / (key + ".log");
  if (is_kept(player)) {
    StudentBuild build;
    build.player = player;
    build.compiler = fs::exists(log) ? read_text(log) : "";
    build.cached = true;
    return build;
  }
  // Two checks of one file may run at once: each builds under its own name and moves the player
  // into place when it is whole.
  const fs::path object = folder / text(key, "-", ::getpid(), ".o");
  const BuildTool tool = openly(places);
  StudentBuild build =
      compile(places, recipe, exercise, source, object, paint, tool, {Look::at_suspects, content});
  build.player = player;
  if (build.cause.empty()) link(recipe, shown, tool, build);
  fs::remove(build.object);
  if (build.cause.empty()) write_text(log, build.compiler);
  forget_old_players(folder);
  return build;
}

}  // namespace lockstep::grader
