#include "grader/lab/editors.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/json_text.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {

void write_compile_commands(const Lab& lab) {
  namespace fs = std::filesystem;
  auto entries = nlohmann::json::array();
  for (const Exercise& exercise : lab.course.exercises) {
    const fs::path file = lab.places.work(exercise);
    if (exercise.kind != Kind::code || !fs::exists(file)) continue;
    if (!fs::exists(lab.places.recipe(exercise))) continue;
    const Recipe recipe = read_recipe(lab.places.recipe(exercise));
    // Without the precompiled header: it is one compiler's, and a file includes what it uses.
    std::vector<std::string> words{recipe.compiler};
    words.insert(words.end(), recipe.compile_flags.begin(), recipe.compile_flags.end());
    words.insert(words.end(), {"-c", file.string()});
    entries.push_back(
        {{"directory", lab.places.root.string()}, {"file", file.string()}, {"arguments", words}});
  }
  if (entries.empty()) return;
  const fs::path to = lab.places.root / "work" / "compile_commands.json";
  const std::string text = write_json(entries, 1) + "\n";
  if (!fs::exists(to) || read_text(to) != text) write_text(to, text);
}

}  // namespace lockstep::grader
