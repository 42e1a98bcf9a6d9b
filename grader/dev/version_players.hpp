// Players of many versions of one exercise's file, for its proof. Compiling one file is mostly
// reading headers, so versions are compiled together (grader/course/proofs/shared_unit.hpp); then
// each has a player of its own, in which the part's names are those of that version. What cannot
// share a unit has no player here and is built alone, as a student's file is.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

class VersionPlayers {
 public:
  // Builds the reference, alone: its object tells the names that a part's functions have.
  //   scratch  a folder of its own for what is made here; it goes with this object
  VersionPlayers(const Lab& lab, const Exercise& exercise, std::filesystem::path scratch);
  ~VersionPlayers();
  VersionPlayers(const VersionPlayers&) = delete;
  VersionPlayers& operator=(const VersionPlayers&) = delete;

  const StudentBuild& reference() const { return reference_; }

  // Compiles those of the files together that can be.
  void compile(const std::vector<std::filesystem::path>& files);

  // A player of a file that was compiled with others; the next call takes its place. nullopt for
  // every other file.
  std::optional<StudentBuild> player_of(const std::filesystem::path& file) const;

 private:
  struct Version {
    std::filesystem::path file;
    std::string inner;  // "version_3"
    std::string includes, body;
  };
  struct Shared {
    std::filesystem::path object;
    std::vector<std::string> names;  // for the linker: "--defsym=A=B"
  };
  using Versions = std::vector<Version>;

  void compile_unit(const Versions& versions);
  // Those that keep a unit from being compiled, by what the compiler says.
  Versions wrong_in(const std::string& output, const Versions& versions) const;
  // Notes the players of all versions of an object. Returns those that keep all from having one.
  std::optional<Versions> take(const Versions& versions, const std::filesystem::path& object);

  const Lab& lab_;
  std::filesystem::path scratch_;
  Recipe recipe_;
  StudentBuild reference_;
  std::map<std::string, std::string> names_;  // of the part's functions: as written → as linked
  std::map<std::filesystem::path, Shared> shared_;
  int units_ = 0;
};

}  // namespace lockstep::grader
