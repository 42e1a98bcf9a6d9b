#include "grader/dev/new_exercise.hpp"

#include <algorithm>
#include <iostream>
#include <map>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/stub.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/command_line.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// The room in which the parts of a family stand unless --room says otherwise, and what their
// templates take.
struct Family {
  std::string room, rooms, parameters, cases;
};

const std::map<std::string, Family>& families() {
  static const std::map<std::string, Family> all{
      {"collective",
       {"collectives", R"(["collectives"])", "lockstep::comm::Peers&, lockstep::Tensor",
        "53, 2, 19"}},
      {"function", {"plan", R"(["plan"])", "long", "1, 1, 1"}},
      {"ranks",
       {"parallel/data_parallel", R"(["parallel/data_parallel"])",
        "lockstep::comm::ProcessGroup&, lockstep::Tensor", "9, 2, 14"}},
      {"services", {"comm", "[]", "lockstep::comm::Store&, int, int", "9, 2, 3"}}};
  return all;
}

Options new_exercise_options() {
  Options options("./lab dev new", "Creates the files of a new exercise from grader/templates.");
  options.words("NN/NAME", "its lesson and its name")
      .option("family", "", "the kind of exam: collective, function, ranks or services")
      .option("room", "", "the room of engine/ for the contract (default: the family's)");
  return options;
}

const Lesson& lesson_named(const Course& course, const std::string& name) {
  for (const Lesson& lesson : course.lessons) {
    if (lesson.folder == name || lesson.number() == name) return lesson;
  }
  throw UsageError("there is no lesson '" + name + "': add a [[lesson]] with folder and title to " +
                   "exercises/course.toml, and to its path once this exercise is there");
}

void check_name(const Course& course, const std::string& name) {
  const auto fits = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  };
  if (name.empty() || name[0] < 'a' || name[0] > 'z' || !std::ranges::all_of(name, fits)) {
    throw UsageError(
        "'" + name +
        "' is not a valid name: use lower-case letters, digits and _, starting with a letter");
  }
  for (const Exercise& exercise : course.exercises) {
    if (exercise.name == name) throw UsageError(exercise.address() + " already has this name");
  }
}

// "top_k_router" → "TopKRouter"
std::string type_of(const std::string& name) {
  std::string type;
  bool starts = true;
  for (const char c : name) {
    if (c != '_') type += starts && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts = c == '_';
  }
  return type;
}

std::string filled(std::string form, const std::map<std::string, std::string>& values) {
  for (const auto& [key, value] : values) {
    const std::string place = "{{" + key + "}}";
    for (std::size_t at = 0; (at = form.find(place, at)) != std::string::npos;) {
      form.replace(at, place.size(), value);
      at += value.size();
    }
  }
  return form;
}

// Behind the last exercise of the lesson.
int next_place(const Course& course, const Lesson& lesson) {
  int last = 0;
  for (const Exercise& exercise : course.exercises) {
    if (exercise.lesson == lesson.folder) last = std::max(last, exercise.place);
  }
  return last + 10;
}

}  // namespace

Exit new_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(new_exercise_options(), words);
  if (arguments.asks_help()) return print_help(new_exercise_options());
  const std::string address = arguments.words().size() == 1 ? arguments.words().front() : "";
  const std::size_t slash = address.find('/');
  if (slash == std::string::npos) {
    throw UsageError("./lab dev new 06_all_reduce/NAME --family collective");
  }
  const Lesson& lesson = lesson_named(lab.course, address.substr(0, slash));
  const std::string name = address.substr(slash + 1);
  check_name(lab.course, name);
  const std::string& kind = arguments.get("family");
  const auto family = families().find(kind);
  if (family == families().end()) {
    std::vector<std::string> known;
    for (const auto& [one, unused] : families()) known.push_back(one);
    throw UsageError("there is no family '" + kind + "'" + did_you_mean(kind, known) +
                     ": collective, function, ranks, services");
  }
  std::string room = family->second.room, rooms = family->second.rooms;
  if (arguments.given("room")) {
    room = arguments.get("room");
    rooms = "[\"" + room + "\"]";
    if (!fs::is_directory(lab.places.root / "engine" / room)) {
      throw UsageError("there is no room engine/" + room);
    }
  }
  const std::map<std::string, std::string> values{
      {"name", name},
      {"Type", type_of(name)},
      {"lesson", lesson.folder},
      {"family", kind},
      {"room", room},
      {"rooms", rooms},
      {"namespace", fs::path(room).filename().string()},
      {"parameters", family->second.parameters},
      {"cases", family->second.cases},
      {"place", std::to_string(next_place(lab.course, lesson))}};

  const fs::path templates = lab.places.root / "grader" / "templates";
  const std::string of_lesson = lesson.folder + "/" + name;
  const std::string part = "grader/parts/" + of_lesson + "/";
  std::map<std::string, std::string> files;  // path → content
  const auto add = [&](const std::string& path, const fs::path& form) {
    if (fs::exists(templates / form)) files[path] = filled(read_text(templates / form), values);
  };
  add("engine/" + room + "/" + name + ".hpp", kind + "/contract.hpp.in");
  add("solutions/" + of_lesson + ".cpp", kind + "/solution.cpp.in");
  add("exercises/" + of_lesson + ".md", "task.md.in");
  add("exercises/" + of_lesson + ".toml", "manifest.toml.in");
  add("exercises/" + of_lesson + ".toml", kind + "/manifest.toml.in");
  for (const std::string file : {"exam.cpp", "player.cpp", "case.hpp"}) {
    add(part + file, kind + "/" + file + ".in");
  }
  for (const std::string file : {"mutants.toml", "contract.toml"}) {
    add("tests/exercises/" + of_lesson + "/" + file, file + ".in");
    add("tests/exercises/" + of_lesson + "/" + file, kind + "/" + file + ".in");
  }
  files["exercises/" + of_lesson + ".cpp"] =
      stub_of(files.at("solutions/" + of_lesson + ".cpp"), name);
  for (const auto& [path, content] : files) {
    if (fs::exists(lab.places.root / path)) throw UsageError(path + " already exists");
  }
  for (const auto& [path, content] : files) {
    write_text(lab.places.root / path, content);
    std::cout << path << "\n";
  }
  std::cout << filled(read_text(templates / "next.txt.in"), values);
  return Exit::passed;
}

}  // namespace lockstep::grader
