#include "grader/pack/gradescope_bundle.hpp"

#include <sstream>

#include "grader/batch/processes/digest.hpp"
#include "grader/batch/processes/secret.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/pack/listed_files.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

int mode_of(const fs::path& file) {
  const bool runs = (fs::status(file).permissions() & fs::perms::owner_exec) != fs::perms::none;
  return runs ? 0755 : 0644;
}

void check_names(const Course& course, const std::string& exercises) {
  std::istringstream names(exercises);
  for (std::string name; std::getline(names, name, ',');) {
    if (!name.empty()) exercises_named(course, name);
  }
}

}  // namespace

Bundle gradescope_bundle(const Lab& lab, const std::string& exercises,
                         const std::string& seed_file) {
  check_names(lab.course, exercises);
  const fs::path here = lab.places.root / "grader" / "pack";
  Bundle bundle;
  for (const char* script : {"run_autograder", "setup.sh"}) {
    bundle.members.push_back({script, read_text(here / "gradescope" / script), 0755});
  }
  const std::string seed = seed_file.empty() ? random_secret() : read_secret(seed_file);
  bundle.seed_sha256 = sha256(seed);
  bundle.members.push_back({"seed", seed, 0600});
  bundle.members.push_back({"exercises", exercises + "\n", 0644});
  for (const fs::path& file : listed_files(lab.places.root, read_text(here / "gradescope.list"))) {
    const fs::path from = lab.places.root / file;
    bundle.members.push_back({"lockstep/" + file.string(), read_text(from), mode_of(from)});
  }
  return bundle;
}

}  // namespace lockstep::grader
