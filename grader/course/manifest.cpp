#include "grader/course/manifest.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// One manifest or one table of it, read key by key. Whatever is wrong is said with file and line.
class Entry {
 public:
  Entry(json table, std::string shown, std::string text)
      : table_(std::move(table)), shown_(std::move(shown)), text_(std::move(text)) {}

  template <typename T>
  T need(const std::string& key) {
    if (!table_.contains(key)) throw UsageError(where("") + "the key '" + key + "' is missing");
    return get<T>(key, T{});
  }

  template <typename T>
  T get(const std::string& key, T otherwise) {
    known_.push_back(key);
    const auto found = table_.find(key);
    if (found == table_.end()) return otherwise;
    try {
      return found->get<T>();
    } catch (const json::exception&) {
      throw UsageError(text(where(key), "the key '", key, "' has the wrong type: ", found->dump()));
    }
  }

  void refuse_unknown_keys() const {
    for (const auto& [key, value] : table_.items()) {
      if (std::ranges::count(known_, key) > 0) continue;
      throw UsageError(text(where(key), "there is no key '", key, "'", did_you_mean(key, known_)));
    }
  }

  // "exercises/06_all_reduce/ring_all_reduce.toml:7: ", for what is said of a key.
  std::string where(const std::string& key) const {
    std::istringstream lines(text_);
    std::string line;
    for (int number = 1; !key.empty() && std::getline(lines, line); ++number) {
      if (line.starts_with(key + " =")) return text(shown_, ":", number, ": ");
    }
    return shown_ + ":1: ";
  }

 private:
  json table_;
  std::string shown_, text_;
  std::vector<std::string> known_;
};

Entry entry_of(const fs::path& file, const fs::path& manifests) {
  const std::string shown =
      (manifests.filename() / file.lexically_relative(manifests)).generic_string();
  return {read_toml(file), shown, read_text(file)};
}

void check_range(const Entry& entry, const char* key, int value, int low, int high) {
  if (value >= low && value <= high) return;
  throw UsageError(
      text(entry.where(key), key, " is ", value, "; its range is ", low, " to ", high));
}

void read_work(Entry& entry, Exercise& exercise) {
  constexpr int most = 1000;
  exercise.points = entry.need<int>("points");
  check_range(entry, "points", exercise.points, 0, most);
  exercise.minutes = entry.need<int>("minutes");
  check_range(entry, "minutes", exercise.minutes, 1, most);
  exercise.version = entry.get("version", exercise.version);
  check_range(entry, "version", exercise.version, 1, most);
}

Exercise code_exercise(const std::string& lesson, const fs::path& file, Entry& entry) {
  using Words = std::vector<std::string>;
  Exercise exercise;
  exercise.name = file.stem().string();
  exercise.lesson = lesson;
  exercise.place = entry.need<int>("place");
  read_work(entry, exercise);
  exercise.difficulty = entry.get("difficulty", exercise.difficulty);
  check_range(entry, "difficulty", exercise.difficulty, 1, 3);
  exercise.core = entry.need<bool>("core");
  exercise.after = entry.get("after", Words{});
  exercise.reading = entry.get("reading", lesson);
  exercise.moved_from = entry.get("moved_from", std::string());
  exercise.header = entry.need<std::string>("header");
  exercise.symbols = entry.need<Words>("symbols");
  exercise.family = entry.need<std::string>("family");
  exercise.battery = entry.get("battery", exercise.family);
  exercise.not_asked = entry.get("not_asked", std::map<std::string, std::string>{});
  exercise.rooms = entry.need<Words>("rooms");
  exercise.may_use = entry.get("may_use", Words{});
  entry.get("judge_uses", Words{});  // for the build alone
  exercise.mistakes = entry.get("mistakes", false);
  exercise.cases = entry.need<std::vector<int>>("cases");
  for (const auto& [check, why] : entry.get("trivial", std::map<std::string, std::string>{})) {
    const bool digits = check.find_first_not_of("0123456789") == std::string::npos;
    const int number = digits && !check.empty() && check.size() <= 3 ? std::stoi(check) : 0;
    check_range(entry, "trivial", number, 1, static_cast<int>(exercise.cases.size()));
    exercise.trivial[number] = why;
  }
  exercise.among_processes = entry.get("among_processes", false);
  exercise.baseline = entry.get("baseline", std::string());
  exercise.native = entry.get("native", std::string());
  exercise.called_by.options = entry.get("runs_with", Words{});
  exercise.called_by.adds = entry.get("adds", std::string());
  exercise.called_by.not_with = entry.get("not_with", Words{});
  exercise.called_by.unused = entry.get("unused", std::string());
  exercise.called_by.train = entry.get("train", std::string());
  exercise.called_by.shown_by = entry.get("shown_by", std::string());
  exercise.called_by.compare = entry.get("compare", std::string());
  exercise.called_by.compare_with = entry.get("compare_with", std::string());
  entry.refuse_unknown_keys();
  if (exercise.symbols.empty())
    throw UsageError(entry.where("symbols") + "symbols must not be empty");
  return exercise;
}

// A course with the manifests that it was read from, for what is wrong between them.
struct Draft {
  Course course;
  std::vector<Entry> entries;  // of the exercises
};

void read_lesson(Entry& entry, const fs::path& manifests, Draft& draft) {
  Lesson lesson{entry.need<std::string>("folder"), entry.need<std::string>("title")};
  const auto quiz = entry.get("quiz", json());
  entry.refuse_unknown_keys();
  std::vector<fs::path> files;
  if (fs::is_directory(manifests / lesson.folder)) {
    for (const auto& file : fs::directory_iterator(manifests / lesson.folder)) {
      const fs::path& path = file.path();
      if (path.extension() == ".toml" && path.stem() != "quiz") files.push_back(path);
    }
  }
  std::vector<std::pair<Exercise, Entry>> exercises;
  for (const fs::path& file : files) {
    Entry of_exercise = entry_of(file, manifests);
    Exercise exercise = code_exercise(lesson.folder, file, of_exercise);
    exercises.emplace_back(std::move(exercise), std::move(of_exercise));
  }
  std::ranges::sort(exercises, {},
                    [](const auto& one) { return std::pair(one.first.place, one.first.name); });
  if (!quiz.is_null()) {
    Exercise exercise;
    exercise.name = "quiz";
    exercise.lesson = exercise.reading = lesson.folder;
    exercise.kind = Kind::quiz;
    Entry of_quiz(quiz, entry.where("quiz").substr(0, entry.where("quiz").find(':')), "");
    read_work(of_quiz, exercise);
    of_quiz.refuse_unknown_keys();
    exercises.emplace_back(std::move(exercise), std::move(of_quiz));
  }
  for (auto& [exercise, of_exercise] : exercises) {
    draft.course.exercises.push_back(std::move(exercise));
    draft.entries.push_back(std::move(of_exercise));
  }
  draft.course.lessons.push_back(std::move(lesson));
}

// Orders the exercises: those that the path names, in its order; then the rest, lesson by lesson.
void lay_path(const Entry& entry, const std::vector<std::string>& named, Course& course) {
  const auto add = [&](const auto& wanted) {
    bool found = false;
    for (std::size_t i = 0; i < course.exercises.size(); ++i) {
      if (!wanted(course.exercises[i])) continue;
      found = true;
      if (std::ranges::count(course.path, i) == 0) course.path.push_back(i);
    }
    return found;
  };
  for (const std::string& name : named) {
    const auto is_named = [&](const Exercise& e) {
      return e.lesson == name || e.address() == name;
    };
    if (!add(is_named)) {
      throw UsageError(entry.where("path") + "the path names '" + name +
                       "', which is neither a lesson with exercises nor an exercise");
    }
  }
  add([](const Exercise&) { return true; });
}

bool names_part(const Course& course, const std::string& name) {
  return std::any_of(course.exercises.begin(), course.exercises.end(), [&](const Exercise& other) {
    return other.kind == Kind::code && other.name == name;
  });
}

void check_consistent(const Draft& draft) {
  std::set<std::string> handles;   // of those that come before on the path
  std::set<std::string> optional;  // of these, those that nobody has to solve
  std::map<std::string, std::string> symbols;
  for (const std::size_t at : draft.course.path) {
    const Exercise& exercise = draft.course.exercises[at];
    const Entry& entry = draft.entries[at];
    for (const std::string& before : exercise.after) {
      if (exercise.core && optional.contains(before)) {
        throw UsageError(text(entry.where("after"), exercise.name, " is core and comes after '",
                              before,
                              "', which is optional; make that one core, too, or leave it "
                              "out of `after`"));
      }
      if (handles.contains(before)) continue;
      throw UsageError(text(entry.where("after"), exercise.name, " comes after '", before,
                            "', which does not come before it on the path"));
    }
    if (!handles.insert(exercise.handle()).second) {
      throw UsageError(entry.where("") + "another lesson has an exercise with this name");
    }
    if (!exercise.core) optional.insert(exercise.handle());
    for (const std::string& used : exercise.may_use) {
      if (names_part(draft.course, used)) continue;
      throw UsageError(text(entry.where("may_use"), "there is no part '", used, "'"));
    }
    for (const std::string& symbol : exercise.symbols) {
      const auto [other, is_new] = symbols.emplace(symbol, exercise.address());
      if (is_new) continue;
      throw UsageError(text(entry.where("symbols"), other->second, " defines ", symbol, ", too"));
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

Course read_course(const fs::path& manifest) {
  const fs::path manifests = manifest.parent_path();
  Entry entry = entry_of(manifest, manifests);
  Draft draft;
  const auto path = entry.get("path", std::vector<std::string>{});
  for (json& table : entry.get("lesson", std::vector<json>{})) {
    Entry lesson(std::move(table), manifests.filename().string() + "/course.toml", "");
    read_lesson(lesson, manifests, draft);
  }
  entry.refuse_unknown_keys();
  lay_path(entry, path, draft.course);
  check_consistent(draft);
  return std::move(draft.course);
}

const Exercise& exercise_named(const Course& course, std::string_view name) {
  const std::string address = last_two(name);
  std::vector<std::string> known;
  std::vector<const Exercise*> same_name;  // every lesson may have its quiz
  for (const Exercise& exercise : course.exercises) {
    const std::string by_number = exercise.lesson.substr(0, 2) + "/" + exercise.name;
    if (exercise.address() == address || by_number == address) return exercise;
    if (!exercise.moved_from.empty() && exercise.earlier_address() == address) return exercise;
    if (exercise.name == address) same_name.push_back(&exercise);
    const bool with_number = address.find('/') == 2;
    const bool with_lesson = address.find('/') != std::string::npos;
    known.push_back(with_number ? by_number : with_lesson ? exercise.address() : exercise.handle());
  }
  if (same_name.size() == 1) return *same_name.front();
  if (!same_name.empty()) {
    std::string all;
    for (const Exercise* exercise : same_name) {
      if (!all.empty()) all += ", ";
      all += exercise->address();
    }
    throw UsageError(
        text("there are ", same_name.size(), " exercises named '", name, "'; choose one: ", all));
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
