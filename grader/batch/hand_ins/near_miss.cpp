#include "grader/batch/hand_ins/near_miss.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "grader/batch/hand_ins/hand_in.hpp"

namespace lockstep::grader {
namespace {

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "06_all_reduce/ring.cpp" of "gus/06_all_reduce/ring.cpp"; empty at the root.
std::string last_two(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return "";
  const std::size_t before = path.rfind('/', slash - 1);
  return before == std::string::npos ? path : path.substr(before + 1);
}

// True if it lies below one of the course's own folders, which hold no student's work.
bool is_of_course(const std::string& path) {
  const std::string whole = "/" + path;
  return whole.find("/exercises/") != std::string::npos ||
         whole.find("/solutions/") != std::string::npos;
}

struct Misses {  // the best of each kind: the shallowest, then the first by name
  using Best = std::map<int, std::tuple<std::ptrdiff_t, std::string, std::string>>;
  Best best;
  void add(int kind, const std::string& path, const std::string& hint) {
    const std::tuple one{std::count(path.begin(), path.end(), '/'), path, hint};
    const auto [at, first] = best.emplace(kind, one);
    if (!first) at->second = std::min(at->second, one);
  }
};

}  // namespace

std::string near_miss(const std::vector<std::string>& files,
                      const std::vector<const Exercise*>& exercises) {
  std::map<std::string, std::string> by_file, by_name;
  for (const Exercise* exercise : exercises) {
    by_file[lower_case(exercise->file())] = exercise->file();
    if (exercise->kind == Kind::code) {
      by_name[lower_case(name_in(exercise->file()))] = exercise->lesson;
    }
  }
  Misses misses;
  for (const std::string& path : files) {
    const std::string name = name_in(path);
    if (by_file.contains(lower_case(last_two(path)))) {
      if (is_of_course(path)) {
        misses.add(3, path,
                   "exercises/ and solutions/ are the course's own: ./lab submit packs work/");
        continue;
      }
      const std::string file = by_file.at(lower_case(last_two(path)));
      const std::string folder = path.substr(0, path.size() - file.size());
      misses.add(0, path,
                 !path.ends_with(file) ? "did you mean " + path + "? It is called " + file + " here"
                 : folder.empty()      ? ""
                                  : "did you mean " + folder.substr(0, folder.size() - 1) + "?");
    } else if (by_name.contains(lower_case(name)) && !is_of_course(path)) {
      misses.add(1, path,
                 "did you mean " + path + "? It belongs in " + by_name.at(lower_case(name)) + "/");
    } else if (is_archive_name(name)) {
      misses.add(2, path, "did you mean the archive " + path + "? Hand in that by itself");
    }
  }
  return misses.best.empty() ? "" : std::get<2>(misses.best.begin()->second);
}

}  // namespace lockstep::grader
