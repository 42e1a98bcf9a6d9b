#include "grader/batch/hand_ins/hand_in.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "engine/base/text.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/near_miss.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t path_bytes_max = 4096;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_lesson(std::string_view name) {
  return name.size() > 3 && is_digit(name[0]) && is_digit(name[1]) && name[2] == '_';
}

// A path's folders, without the name behind them.
std::vector<std::string_view> folders_of(std::string_view path) {
  std::vector<std::string_view> folders;
  for (std::size_t slash; (slash = path.find('/')) != std::string_view::npos;) {
    folders.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  return folders;
}

struct Known {  // what is left of the entries by rule 1
  std::string path;
  std::string way;  // the same, with a slash behind a lesson's folder that is a link
  std::size_t entry;
  Entry::Kind kind;
};

std::vector<Known> known_of(const std::vector<Entry>& entries) {
  std::vector<Known> known;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string path = normal_path(entries[i].path);
    if (path.empty()) continue;
    const bool leads_on =
        entries[i].kind == Entry::Kind::link && is_lesson(path.substr(path.rfind('/') + 1));
    known.push_back({path, leads_on ? path + "/" : path, i, entries[i].kind});
  }
  return known;
}

// The folders named work that hold a lesson's folder, at the least depth: "lockstep-main/work/".
std::set<std::string> work_folders(const std::vector<Known>& known) {
  std::set<std::string> roots;
  std::size_t depth = hand_in_depth_max;
  for (const Known& one : known) {
    if (one.kind == Entry::Kind::folder) continue;
    const auto folders = folders_of(one.way);
    std::size_t end = 0;
    for (std::size_t i = 0; i + 1 < folders.size() && i <= depth; ++i) {
      end += folders[i].size() + 1;
      if (folders[i] != "work" || !is_lesson(folders[i + 1])) continue;
      if (i < depth) roots.clear();
      depth = i;
      roots.insert(one.way.substr(0, end));
    }
  }
  return roots;
}

// The root by rule 3, with its slash; nothing where no folder of a lesson is found.
std::optional<std::string> root_without_work(const std::vector<Known>& known) {
  std::string root;
  for (int depth = 0; depth < hand_in_depth_max; ++depth) {
    std::set<std::string> inside;
    for (const Known& one : known) {
      if (one.kind == Entry::Kind::folder || !one.way.starts_with(root)) continue;
      const std::size_t slash = one.way.find('/', root.size());
      if (slash != std::string::npos)
        inside.insert(one.way.substr(root.size(), slash - root.size()));
    }
    if (std::any_of(inside.begin(), inside.end(), is_lesson)) return root;
    if (inside.size() != 1 || *inside.begin() == "exercises" || *inside.begin() == "solutions")
      break;
    root += *inside.begin() + "/";
  }
  return std::nullopt;
}

Answer refused_answer(std::string cause, std::string reason) {
  return {Answer::State::refused, "", std::move(cause), std::move(reason)};
}

class PathIndex {
 public:
  explicit PathIndex(const std::vector<Known>& known) {
    for (const Known& one : known) at_[one.path].push_back(&one);
  }

  Answer answer_at(const std::string& path, const std::function<Answer(std::size_t)>& read) const {
    const auto found = at_.find(path);
    if (found == at_.end()) return behind_link(path);
    if (found->second.size() > 1) {
      return refused_answer("twice", path + " is contained twice: keep one of them");
    }
    const Known& only = *found->second.front();
    switch (only.kind) {
      case Entry::Kind::file:
        return read(only.entry);
      case Entry::Kind::link:
        return refused_answer("symbolic_link", path + " is a link: hand in the file itself");
      case Entry::Kind::folder:
      case Entry::Kind::other:
        break;
    }
    return refused_answer("not_a_file", path + " is not a regular file");
  }

 private:
  // Missing, or below a folder that is a link.
  Answer behind_link(const std::string& path) const {
    for (std::size_t end = path.find('/'); end != std::string::npos;
         end = path.find('/', end + 1)) {
      const auto folder = at_.find(path.substr(0, end));
      if (folder == at_.end() || folder->second.front()->kind != Entry::Kind::link) continue;
      return refused_answer("symbolic_link", path + " is reached through a symbolic link");
    }
    return {Answer::State::missing, "", "missing", "there is no " + path};
  }

  std::map<std::string, std::vector<const Known*>> at_;
};

// The hand-in has no answer at all: why, and what mends it.
void explain_nothing(const std::vector<Known>& known, const std::vector<const Exercise*>& exercises,
                     Submission& submission) {
  std::vector<std::string> files;
  for (const Known& one : known) {
    if (one.kind != Entry::Kind::folder) files.push_back(one.path);
    if (one.kind == Entry::Kind::link && (one.path == "work" || one.path.ends_with("/work"))) {
      submission.cause = "symbolic_link";
      submission.reason = sim::printable(one.path, 200) +
                          " is a symbolic link: hand in the folder that it leads to";
      return;
    }
  }
  if (files.empty()) {
    submission.cause = "empty";
    submission.reason =
        "the hand-in holds no file, apart from .names and __MACOSX: ./lab submit packs one";
    return;
  }
  submission.cause = "nothing_found";
  submission.reason = text(files.size() == 1 ? std::string("its file is not")
                                             : text("of its ", files.size(), " files, none is"),
                           " at the place of a graded exercise");
  const std::string hint = near_miss(files, exercises);
  if (!hint.empty()) submission.reason += "; " + sim::printable(hint, 300);
}

}  // namespace

bool is_ignored_name(const std::string& name) {
  return name.starts_with(".") || name == "__MACOSX";
}

std::string normal_path(const std::string& path) {
  if (path.size() > path_bytes_max) return "";
  std::string normal, name;
  int depth = 0;
  for (std::size_t i = 0; i <= path.size(); ++i) {
    if (i < path.size() && path[i] != '/' && path[i] != '\\') {
      name += path[i];
      continue;
    }
    if (!name.empty() && name != ".") {
      if (is_ignored_name(name) || ++depth > hand_in_depth_max + 1) return "";
      normal += (normal.empty() ? "" : "/") + name;
    }
    name.clear();
  }
  return normal;
}

std::string without_archive_ending(const std::string& name) {
  const std::string lower = lower_case(name);
  for (const std::string_view end : {".zip", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar"}) {
    if (name.size() > end.size() && lower.ends_with(end)) {
      return name.substr(0, name.size() - end.size());
    }
  }
  return name;
}

bool is_archive_name(const std::string& name) { return without_archive_ending(name) != name; }

void take_answers(const std::vector<Entry>& entries, const std::vector<const Exercise*>& exercises,
                  const std::function<Answer(std::size_t)>& read, Submission& submission) {
  const std::vector<Known> known = known_of(entries);
  const std::set<std::string> work = work_folders(known);
  if (work.size() > 1) {
    submission.cause = "ambiguous";
    submission.reason = sim::printable(text("two folders could be meant, ", *work.begin(), " and ",
                                            *std::next(work.begin()), ": keep one of them"),
                                       400);
    return;
  }
  const auto root = work.empty() ? root_without_work(known) : std::optional(*work.begin());
  const PathIndex index(known);
  bool found = false;
  for (const Exercise* exercise : exercises) {
    Answer& answer = submission.answers[exercise->address()];
    answer = index.answer_at(root.value_or("") + exercise->file(), read);
    if (answer.state == Answer::State::missing && !exercise->moved_from.empty()) {
      Answer earlier = index.answer_at(root.value_or("") + exercise->earlier_file(), read);
      if (earlier.state != Answer::State::missing) answer = std::move(earlier);
    }
    answer.reason = sim::printable(answer.reason, 400);
    found = found || answer.state != Answer::State::missing;
  }
  if (!found) explain_nothing(known, exercises, submission);
}

}  // namespace lockstep::grader
