// From a student's file to a player: compile one file with a precompiled header, look whether the
// part is in it, link. Nothing but the student's file is ever compiled, and nothing at all when the
// same file was built before.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "grader/course/compile/command.hpp"
#include "grader/course/compile/recipe.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/workspace.hpp"

namespace lockstep::grader {

enum class Paint : unsigned char { plain, colour };

// Why a build failed. The file: the compiler or linker ended by itself and found an error in it, or
// used up its processor time on it. Unclear: anything else, such as a full disk; only another file,
// built at the same place, can tell.
enum class Blame : unsigned char { the_file, unclear };

// The outcome of a build. There is a player if `cause` is empty; otherwise the student's file
// cannot be built.
struct StudentBuild {
  std::filesystem::path object, player;
  std::string cause;  // "syntax", "missing_symbol", "link", "compile_time", "compiler_gave_up",
                      // "machine_code", "hidden_bytes"
  Blame blame = Blame::the_file;
  std::string message;   // the sentence
  std::string compiler;  // what the compiler or linker printed, warnings too, shortened
  double compile_s = 0, link_s = 0;
  bool cached = false;
};

// Builds `source` as the part `exercise`. Players are kept in build/<preset>/students/<part>/, the
// newest 40 of each part.
// A file with machine code in it (machine_code.hpp) is not built.
//   Throws  UsageError when the file cannot be read, Error when the lab is not built
StudentBuild build_student(const Places& places, const Exercise& exercise,
                           const std::filesystem::path& source, Paint paint,
                           PlayerKind kind = PlayerKind::usual);

// Runs the compiler, nm or the linker. The arguments are the command, and what it reads besides the
// source and the engine's headers. It runs in a folder where the source lies by the name that
// messages give it. A sandbox shows the command those and nothing else (grader/sandbox).
using BuildTool = std::function<CommandResult(const std::vector<std::string>& argv,
                                              const std::vector<std::filesystem::path>& reads)>;

// Builds a player by `tool` under just this name, whatever was built before. `source` is how
// messages name the file, which the tool reads, and `content` what is in it. The object lies beside
// the player.
StudentBuild build_player(const Places& places, const Exercise& exercise,
                          const std::filesystem::path& source, const std::string& content,
                          const std::filesystem::path& player, const BuildTool& tool);

// The same for a file whose author must not pay for a machine that failed. Where the blame for a
// failed build is unclear, the stub is built in its place: when that fails too, the lab failed;
// otherwise the file is built once more, and what comes of it is its own.
//   put     writes a content to the place where `tool` reads the source
//   Throws  Error when the lab failed
StudentBuild build_player_fairly(const Places& places, const Exercise& exercise,
                                 const std::string& content, const std::filesystem::path& player,
                                 const BuildTool& tool,
                                 const std::function<void(const std::string& content)>& put);

// As a student's own check builds: in the open.
BuildTool openly(const Places& places);

// Links an object that is compiled already into just this player.
//   shown  how messages name its source
StudentBuild link_player(const Places& places, const Recipe& recipe, const std::string& shown,
                         const std::filesystem::path& object, const std::filesystem::path& player);

// The words that compile the file `shown`, as it is named from the repository's root.
std::vector<std::string> compile_words(const Recipe& recipe, const std::string& shown,
                                       const std::filesystem::path& object);

// The same as far as the object: for linking it into another program with other flags.
StudentBuild compile_student(const Places& places, const Recipe& recipe, const Exercise& exercise,
                             const std::filesystem::path& source,
                             const std::filesystem::path& object, Paint paint);

}  // namespace lockstep::grader
