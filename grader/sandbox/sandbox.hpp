// The sandbox in which strangers' files are compiled and played. Two profiles:
//
//   namespaces  bubblewrap: an empty root, no network, own process ids; then limits and a filter
//   landlock    for root where namespaces are refused, as in most containers: a user id of its own,
//               an empty folder as its root, no files by Landlock; then the same limits and the
//               same filter
//
// Nothing is trusted to hold because it was asked for: probe.hpp shows it before anything is
// graded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/course/compile/command.hpp"
#include "grader/course/compile/recipe.hpp"
#include "grader/course/workspace.hpp"
#include "grader/sandbox/toolchain.hpp"

namespace lockstep::grader {

enum class Profile : unsigned char { namespaces, landlock };
std::string name_of(Profile profile);

// A folder that only this user, and the players that may run what lies there, can enter; removed at
// the end. Players leave root behind, so it lies below /tmp, whatever the permissions elsewhere.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  static std::string prefix() { return "/tmp/lockstep-grade-"; }  // of every such path

 private:
  std::filesystem::path path_;
};

class Sandbox {
 public:
  // `area` must outlive it: what confines players is copied there.
  // `compiler` is the one that will be run. All that it starts carries `mark` in its environment,
  // "NAME=value" or empty; a player does not.
  //   Throws  Error when this build has no lab-box
  Sandbox(Profile profile, const Places& places, const std::filesystem::path& area,
          const std::string& compiler, std::string mark = {});

  Profile profile() const { return profile_; }

  // The words before a player's (sim::PlayerLimits::launcher). Without the filter only to show what
  // the other layers do.
  enum class Filter : unsigned char { on, off };
  std::vector<std::string> player_launcher(Filter filter = Filter::on) const;

  // Runs a command that reads a stranger's source in `folder`, the only place where it can write.
  // It sees the compiler and what that runs, the engine's headers and `reads`: no source, no
  // solution, no exam, no other student, no other program.
  CommandResult build(const std::vector<std::string>& argv,
                      const std::vector<std::filesystem::path>& reads,
                      const std::filesystem::path& folder, Filter filter = Filter::on) const;

 private:
  std::vector<std::string> in_namespaces(const std::vector<std::filesystem::path>& reads,
                                         const std::filesystem::path& folder) const;
  std::vector<std::string> under_landlock(const std::vector<std::filesystem::path>& reads,
                                          const std::filesystem::path& folder, Filter filter) const;

  Profile profile_;
  Places places_;
  std::filesystem::path box_;      // lab-box
  std::filesystem::path headers_;  // a copy of the engine's, for the namespaces
  std::filesystem::path nothing_;  // an empty folder
  Toolchain toolchain_;
  std::string mark_;
  bool root_ = false;
  bool closed_ = false;  // the course lies where only root can go
};

}  // namespace lockstep::grader
