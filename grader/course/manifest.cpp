#include "grader/course/manifest.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/toml_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

template <typename T>
T value_of(const json& entry, const char* key, const std::string& where) {
  const auto found = entry.find(key);
  if (found == entry.end()) throw UsageError(text(where, " has no key '", key, "'"));
  try {
    return found->get<T>();
  } catch (const json::exception&) {
    throw UsageError(text(where, ": the key '", key, "' has the wrong type: ", found->dump()));
  }
}

Exercise exercise_of(const json& entry, const std::string& file) {
  Exercise exercise;
  exercise.name = value_of<std::string>(entry, "name", file + ": an exercise");
  const std::string where = file + ": exercise '" + exercise.name + "'";
  exercise.lesson = value_of<std::string>(entry, "lesson", where);
  const auto kind = value_of<std::string>(entry, "kind", where);
  if (kind != "code" && kind != "quiz") {
    throw UsageError(text(where, ": kind is \"", kind, "\"; it is \"code\" or \"quiz\""));
  }
  exercise.kind = kind == "quiz" ? Kind::quiz : Kind::code;
  if (exercise.kind == Kind::code) {
    exercise.header = value_of<std::string>(entry, "header", where);
    exercise.symbols = value_of<std::vector<std::string>>(entry, "symbols", where);
    exercise.may_use = value_of<std::vector<std::string>>(entry, "may_use", where);
  }
  exercise.points = value_of<int>(entry, "points", where);
  exercise.minutes = value_of<int>(entry, "minutes", where);
  exercise.core = value_of<bool>(entry, "core", where);
  if (entry.contains("difficulty")) {
    exercise.difficulty = value_of<int>(entry, "difficulty", where);
    if (exercise.difficulty < 1 || exercise.difficulty > 3) {
      throw UsageError(text(where, ": difficulty is ", exercise.difficulty, "; it is 1, 2 or 3"));
    }
  }
  if (entry.contains("after")) {
    exercise.after = value_of<std::vector<std::string>>(entry, "after", where);
  }
  return exercise;
}

bool names_part(const Course& course, const std::string& name) {
  return std::any_of(course.exercises.begin(), course.exercises.end(), [&](const Exercise& other) {
    return other.kind == Kind::code && other.name == name;
  });
}

void check_consistent(const Course& course, const std::string& file) {
  for (const Exercise& exercise : course.exercises) {
    const std::string where = file + ": exercise '" + exercise.address() + "'";
    const auto same = [&](const Exercise& other) { return other.handle() == exercise.handle(); };
    if (std::count_if(course.exercises.begin(), course.exercises.end(), same) > 1) {
      throw UsageError(where + " is listed twice");
    }
    const auto of_lesson = [&](const Lesson& lesson) { return lesson.folder == exercise.lesson; };
    if (std::none_of(course.lessons.begin(), course.lessons.end(), of_lesson)) {
      throw UsageError(where + " belongs to a lesson that is not listed");
    }
    for (const std::string& before : exercise.after) {
      const auto here = [&](const Exercise& other) { return &other == &exercise; };
      const auto is_it = [&](const Exercise& other) { return other.handle() == before; };
      const auto end = std::find_if(course.exercises.begin(), course.exercises.end(), here);
      if (std::none_of(course.exercises.begin(), end, is_it)) {
        throw UsageError(where + " comes after '" + before + "', which is not listed before it");
      }
    }
    for (const std::string& used : exercise.may_use) {
      if (!names_part(course, used)) throw UsageError(where + " may use no part '" + used + "'");
    }
  }
}

// "work/06_all_reduce/ring_all_reduce.cpp" → "06_all_reduce/ring_all_reduce"
std::string last_two(std::string_view name) {
  const std::filesystem::path path{std::string(name)};
  const std::string folder = path.parent_path().filename().string();
  return folder.empty() ? path.stem().string() : folder + "/" + path.stem().string();
}

}  // namespace

Course read_course(const std::filesystem::path& manifest) {
  const json document = read_toml(manifest);
  const std::string file = manifest.filename().string();
  Course course;
  for (const json& entry : document.value("lesson", json::array())) {
    course.lessons.push_back({value_of<std::string>(entry, "folder", file + ": a lesson"),
                              value_of<std::string>(entry, "title", file + ": a lesson")});
  }
  for (const json& entry : document.value("exercise", json::array())) {
    course.exercises.push_back(exercise_of(entry, file));
  }
  check_consistent(course, file);
  return course;
}

const Exercise& exercise_named(const Course& course, std::string_view name) {
  const std::string address = last_two(name);
  std::vector<std::string> known;
  std::vector<const Exercise*> same_name;  // every lesson may have its quiz
  for (const Exercise& exercise : course.exercises) {
    if (exercise.address() == address) return exercise;
    if (exercise.name == address) same_name.push_back(&exercise);
    known.push_back(exercise.handle());
  }
  if (same_name.size() == 1) return *same_name.front();
  if (!same_name.empty()) {
    std::string all;
    for (const Exercise* exercise : same_name) {
      if (!all.empty()) all += ", ";
      all += exercise->address();
    }
    throw UsageError(
        text("there are ", same_name.size(), " exercises named '", name, "'; say which: ", all));
  }
  throw UsageError(text("there is no exercise '", name, "'", did_you_mean(address, known),
                        " (./lab list shows all)"));
}

std::vector<const Exercise*> exercises_named(const Course& course, std::string_view name) {
  std::vector<const Exercise*> chosen;
  std::string number(name);
  if (number.size() == 1) number.insert(number.begin(), '0');
  for (const Exercise& exercise : course.exercises) {
    if (exercise.lesson.substr(0, 2) == number || exercise.lesson == name)
      chosen.push_back(&exercise);
  }
  for (const Lesson& lesson : course.lessons) {
    if (chosen.empty() && (lesson.folder.substr(0, 2) == number || lesson.folder == name)) {
      throw UsageError("lesson " + lesson.folder + " has no exercises; its text is lessons/" +
                       lesson.folder + "/README.md");
    }
  }
  if (chosen.empty()) chosen.push_back(&exercise_named(course, name));
  return chosen;
}

}  // namespace lockstep::grader
