#include "grader/course/proofs/broken.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class BrokenReader {
 public:
  BrokenReader(const fs::path& folder, const Course& course)
      : folder_(folder), file_((folder / "broken.toml").string()), course_(course) {}

  std::vector<Broken> all() const {
    std::vector<Broken> found;
    for (const json& table : read_toml_with_lines(file_).value("break", json::array())) {
      found.push_back(one(table));
    }
    return found;
  }

 private:
  Broken one(const json& table) const {
    Broken broken;
    broken.name = words(table, "name");
    broken.run = options(table, "run");
    if (table.contains("before")) broken.before = options(table, "before");
    if (table.contains("each_before")) broken.each_before = options(table, "each_before");
    if (table.contains("sound")) {
      broken.sound = options(table, "sound");
    } else {
      broken.source = source_of(table, broken.name);
    }
    try {
      broken.part = &exercise_named(course_, words(table, "part"));
    } catch (const UsageError& error) {
      fail(table, "part", error.what());
    }
    static const std::map<std::string, Symptom> symptoms{
        {"replicas", Symptom::replicas}, {"loss", Symptom::loss},   {"order", Symptom::order},
        {"end", Symptom::end},           {"bytes", Symptom::bytes}, {"time", Symptom::time},
        {"steps", Symptom::steps}};
    const auto symptom = symptoms.find(words(table, "shows"));
    if (symptom == symptoms.end())
      fail(table, "shows", "'shows' must be replicas, loss, order, end, bytes, time or steps");
    broken.shows = symptom->second;
    broken.what = words(table, "what");
    broken.why = words(table, "why");
    return broken;
  }

  fs::path source_of(const json& table, const std::string& name) const {
    const fs::path source = folder_ / (name + ".cpp"), object = folder_ / (name + ".o");
    if (fs::exists(source)) return source;
    if (!fs::exists(object)) fail(table, "name", "there is no " + source.string());
    return object;
  }

  std::vector<std::string> options(const json& table, const std::string& key) const {
    std::istringstream in(words(table, key));
    std::vector<std::string> options;
    for (std::string option; in >> option;) options.push_back(option);
    return options;
  }

  std::string words(const json& table, const std::string& key) const {
    const auto found = table.find(key);
    if (found == table.end() || !found->is_string() || found->get<std::string>().empty()) {
      fail(table, key, "'" + key + "' must be a non-empty string in quotes");
    }
    return found->get<std::string>();
  }

  [[noreturn]] void fail(const json& table, const std::string& key, const std::string& what) const {
    const json& lines = table.at(toml_lines);
    throw UsageError(text(file_, ":", lines.value(lines.contains(key) ? key : "", 0), ": ", what));
  }

  fs::path folder_;
  std::string file_;
  const Course& course_;
};

}  // namespace

std::vector<Broken> broken_parts(const fs::path& root, const Course& course) {
  std::vector<fs::path> folders;
  for (const auto& lesson : fs::directory_iterator(root / "lessons")) {
    if (fs::exists(lesson.path() / "broken" / "broken.toml")) {
      folders.push_back(lesson.path() / "broken");
    }
  }
  std::ranges::sort(folders);
  std::vector<Broken> all;
  for (const fs::path& folder : folders) {
    for (Broken& broken : BrokenReader(folder, course).all()) all.push_back(std::move(broken));
  }
  return all;
}

}  // namespace lockstep::grader
