#include "grader/course/compile/recipe.hpp"

#include <fstream>

#include "engine/base/error.hpp"

namespace lockstep::grader {

namespace {

// A recipe of the students' edition lies in <lab>/build/release/recipes, wherever that is.
std::string in_its_lab(std::string value, const std::filesystem::path& file) {
  const std::string mark = edition_mark;
  for (std::size_t at = value.find(mark); at != std::string::npos; at = value.find(mark, at)) {
    const auto lab = file.parent_path().parent_path().parent_path().parent_path();
    value.replace(at, mark.size(), lab.string());
  }
  return value;
}

}  // namespace

Recipe read_recipe(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) {
    throw Error(text("there is no recipe ", file.string(), ": build the lab first (./lab start)"));
  }
  Recipe recipe;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string value =
        space == std::string::npos ? "" : in_its_lab(line.substr(space + 1), file);
    if (value.empty()) continue;  // a list that is empty in this configuration
    if (key == "compiler") {
      recipe.compiler = value;
    } else if (key == "compile_flag") {
      recipe.compile_flags.push_back(value);
    } else if (key == "pch") {
      recipe.pch = value;
    } else if (key == "plain_header") {
      recipe.plain_header = value;
    } else if (key == "link_flag") {
      recipe.link_flags.push_back(value);
    } else if (key == "object") {
      recipe.objects.emplace_back(value);
    } else if (key == "uses") {
      recipe.uses.push_back(value);
    } else if (key == "library") {
      recipe.libraries.emplace_back(value);
    } else if (key == "simulated_object") {
      recipe.simulated_objects.emplace_back(value);
    } else if (key == "shared_object") {
      recipe.shared_objects.emplace_back(value);
    } else if (key == "sanitized_object") {
      recipe.sanitized_objects.emplace_back(value);
    } else if (key == "gpu_object") {
      recipe.gpu_objects.emplace_back(value);
    } else if (key == "paper_object") {
      recipe.paper_objects.emplace_back(value);
    } else if (key == "gpu_library") {
      recipe.gpu_libraries.emplace_back(value);
    } else if (key == "gpu_link_flag") {
      recipe.gpu_link_flags.push_back(value);
    } else if (key == "shared_library") {
      recipe.shared_libraries.emplace_back(value);
    } else {
      throw Error(text(file.string(), ":", number, ": unknown key '", key,
                       "': configure again with cmake --preset release"));
    }
  }
  if (recipe.compiler.empty()) throw Error(file.string() + " names no compiler: configure again");
  return recipe;
}

Recipe recipe_for(Recipe recipe, PlayerKind kind) {
  const auto append = [](auto& to, const auto& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  using Flags = std::vector<std::string>;
  append(recipe.objects, kind == PlayerKind::shared  ? recipe.shared_objects
                         : kind == PlayerKind::gpu   ? recipe.gpu_objects
                         : kind == PlayerKind::paper ? recipe.paper_objects
                                                     : recipe.simulated_objects);
  if (kind == PlayerKind::shared) append(recipe.libraries, recipe.shared_libraries);
  if (kind == PlayerKind::gpu || kind == PlayerKind::paper) {
    append(recipe.libraries, recipe.gpu_libraries);
    std::erase(recipe.link_flags, "-static");
    append(recipe.link_flags, recipe.gpu_link_flags);
  }
  if (kind != PlayerKind::debugged && kind != PlayerKind::sanitized) return recipe;
  // The precompiled header belongs to other flags: its plain text is read instead.
  recipe.pch = recipe.plain_header;
  if (kind == PlayerKind::debugged) {
    append(recipe.compile_flags, Flags{"-O0", "-g"});
    return recipe;
  }
  const std::string which = "-fsanitize=address,undefined";
  append(recipe.compile_flags,
         Flags{"-g", which, "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"});
  // Their runtime wants the dynamic linker.
  std::erase(recipe.link_flags, "-static");
  append(recipe.link_flags, Flags{which});
  append(recipe.objects, recipe.sanitized_objects);
  return recipe;
}

}  // namespace lockstep::grader
