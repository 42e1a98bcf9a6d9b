#include "grader/batch/hand_ins/submission.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/answer_files.hpp"
#include "grader/batch/hand_ins/hand_in.hpp"
#include "grader/batch/hand_ins/student_name.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

struct Delivered {  // an entry of the folder, and how it is named
  fs::path path;
  std::string name;
  enum class Kind : unsigned char { folder, archive, link, other } kind = Kind::other;
  HandInName named;
  bool is_hand_in() const { return kind == Kind::folder || kind == Kind::archive; }
};

Delivered::Kind kind_of_entry(const fs::directory_entry& entry) {
  const fs::file_status status = entry.symlink_status();
  if (fs::is_symlink(status)) return Delivered::Kind::link;
  if (fs::is_directory(status)) return Delivered::Kind::folder;
  return fs::is_regular_file(status) && is_archive_name(entry.path().filename())
             ? Delivered::Kind::archive
             : Delivered::Kind::other;
}

Submission read_delivered(const Delivered& one, const std::vector<const Exercise*>& exercises,
                          const SubmissionLimits& limits) {
  Submission submission;
  switch (one.kind) {
    case Delivered::Kind::folder:
      read_folder(one.path, exercises, limits, submission);
      break;
    case Delivered::Kind::archive:
      read_archive(one.path, exercises, limits, submission);
      break;
    case Delivered::Kind::link:
      submission.cause = "symbolic_link";
      submission.reason = "the submission is a symbolic link";
      break;
    case Delivered::Kind::other:
      submission.cause = "no_submission";
      submission.reason = readable_name(one.name) +
                          " is neither a folder nor an archive: zip, tar, tar.gz, tar.xz, tar.bz2";
  }
  return submission;
}

// The entries that stand for students, with the names that the pattern finds in them.
std::vector<Delivered> delivered_in(const fs::path& folder, const std::string& naming,
                                    TakenIn& taken) {
  std::vector<Delivered> all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(".")) {
      taken.hidden.push_back("." + readable_name(name.substr(1)));
    } else if (!is_of_export(naming, name)) {
      all.push_back({entry.path(), name, kind_of_entry(entry), {}});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Delivered& a, const Delivered& b) { return a.name < b.name; });
  std::sort(taken.hidden.begin(), taken.hidden.end());
  std::vector<std::string> names;
  for (const Delivered& one : all) {  // a folder's name may end like an archive's
    names.push_back(one.kind == Delivered::Kind::folder ? one.name + ".zip" : one.name);
  }
  const std::vector<HandInName> found = names_by(naming, folder, names);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].named = found[i];
    if (!found[i].students.empty()) continue;
    taken.unmatched.push_back(readable_name(all[i].name));
    all[i].named.students = {without_archive_ending(names[i])};
  }
  return all;
}

// The one of a student's entries that counts; nothing when they cannot be told apart.
const Delivered* counting(const std::vector<const Delivered*>& entries) {
  std::vector<const Delivered*> hand_ins;
  for (const Delivered* one : entries) {
    if (one->is_hand_in()) hand_ins.push_back(one);
  }
  if (hand_ins.empty()) hand_ins = entries;
  const Delivered* last = hand_ins.front();
  for (const Delivered* one : hand_ins) {
    if (one == last) continue;
    const bool comparable =
        one->named.upload == last->named.upload && one->named.attempt != last->named.attempt;
    if (!comparable) return nullptr;
    if (one->named.attempt > last->named.attempt) last = one;
  }
  return last;
}

Submission twice(const std::vector<const Delivered*>& entries) {
  Submission submission;
  submission.cause = "twice";
  submission.reason =
      text("there are ", entries.size(), " hand-ins with this name, ",
           readable_name(entries[0]->name), " and ", readable_name(entries[1]->name),
           ": keep one, or tell students of one name apart by --student-from");
  return submission;
}

// Leaves only these students, each of whom there has to be.
void leave_only(const std::set<std::string>& only, Roster& roster,
                std::map<std::string, std::vector<const Delivered*>>& by_student) {
  std::vector<std::string> known;
  for (const auto& [student, entries] : by_student) known.push_back(student);
  for (const auto& [student, cells] : roster.students) known.push_back(student);
  for (const std::string& student : only) {
    if (std::find(known.begin(), known.end(), student) != known.end()) continue;
    throw UsageError(text("there is no student ", student, did_you_mean(student, known)));
  }
  const auto other = [&](const auto& one) { return !only.contains(one.first); };
  std::erase_if(by_student, other);
  std::erase_if(roster.students, other);
}

using ByStudent = std::map<std::string, std::vector<const Delivered*>>;

template <class Value>
std::set<std::string> names_in(const std::map<std::string, Value>& all) {
  std::set<std::string> names;
  for (const auto& [name, value] : all) names.insert(name);
  return names;
}

// A hand-in whose name the roster writes otherwise is that student's.
LookAlikes name_as_on(const Roster& roster, ByStudent& by_student) {
  LookAlikes alike = look_alikes(names_in(by_student), names_in(roster.students));
  for (const auto& [theirs, listed] : alike.taken_for) {
    for (const Delivered* one : by_student.at(theirs)) by_student[listed].push_back(one);
    by_student.erase(theirs);
  }
  return alike;
}

// The reason is read by the student too, so it does not tell whose hand-in is meant.
std::string nothing_handed_in(const std::string& student, const LookAlikes& alike) {
  const bool similar = std::any_of(alike.perhaps.begin(), alike.perhaps.end(),
                                   [&](const auto& one) { return one.second == student; });
  return similar ? "nothing was handed in under this name; there is a hand-in under a similar one, "
                   "which is not on the roster"
                 : "nothing was handed in";
}

void compare_with(const Roster& roster, const LookAlikes& alike,
                  std::map<std::string, Submission>& all) {
  if (roster.students.empty()) return;
  for (auto& [student, submission] : all) {
    const auto at = roster.students.find(student);
    submission.on_roster = at != roster.students.end();
    submission.about.assign(roster.columns.size(), "");
    if (submission.on_roster) submission.about = at->second;
  }
  for (const auto& [student, about] : roster.students) {
    Submission& submission = all[student];
    if (!submission.student.empty()) continue;
    submission.student = student;
    submission.cause = "missing";
    submission.reason = nothing_handed_in(student, alike);
    submission.about = about;
  }
}

}  // namespace

bool is_nothing(const std::string& cause) {
  return cause == "missing" || cause == "empty" || cause == "nothing_found";
}

TakenIn take_in(const fs::path& folder, const std::vector<const Exercise*>& exercises,
                const Roster& whole_roster, const std::string& naming,
                const SubmissionLimits& limits, const std::set<std::string>& only) {
  if (!fs::is_directory(folder)) {
    throw UsageError(text("there is no folder ", folder.string(),
                          ": it should hold a folder or an archive for each student"));
  }
  TakenIn taken;
  const std::vector<Delivered> delivered = delivered_in(folder, naming, taken);
  ByStudent by_student;
  for (const Delivered& one : delivered) {
    for (const std::string& student : one.named.students) {
      by_student[readable_name(student)].push_back(&one);
    }
  }
  Roster roster = whole_roster;
  taken.alike = name_as_on(roster, by_student);
  if (!only.empty()) leave_only(only, roster, by_student);
  std::map<const Delivered*, Submission> read;  // a group's is read once
  std::map<std::string, Submission> all;
  for (const auto& [student, entries] : by_student) {
    const Delivered* const counts = counting(entries);
    if (counts != nullptr && !read.contains(counts)) {
      read[counts] = read_delivered(*counts, exercises, limits);
    }
    Submission& submission = all[student];
    submission = counts != nullptr ? read[counts] : twice(entries);
    if (counts != nullptr) submission.handed_in = counts->named.handed_in;
    submission.student = student;
    for (const Delivered* one : entries) {
      if (counts != nullptr && one != counts) {
        taken.superseded.push_back(readable_name(one->name));
      }
    }
  }
  compare_with(roster, taken.alike, all);
  for (auto& [student, submission] : all) taken.submissions.push_back(std::move(submission));
  return taken;
}

}  // namespace lockstep::grader
