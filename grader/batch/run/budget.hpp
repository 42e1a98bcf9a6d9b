// The processor seconds that all files of one student may use together, so that one student's files
// cannot hold up the class.
//
// A file is charged its processor seconds (players, compiler, judge). A file that sleeps uses none,
// and holds up the grader all the same: it is charged a fifth of the time for which processors were
// idle while it was judged, where that is more. On a machine that is busy with other work none are,
// and a file that has to wait for a processor is not charged for it. Below 2 % of a processor, a
// file counts as sleeping.
//
// The student's files are taken in the order of the course. A file is beyond the budget when those
// before it used all of it, whatever its own verdict is. So the order in which files are judged
// changes nothing, and a copy that another student handed in is judged by that student's budget.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::grader {

// The time that judging a file took.
struct Use {
  double wall_s = 0, processor_s = 0;
  double idle_s = 0;  // of all processors together, meanwhile
};
double charge_of(const Use& use);
// True if the file slept, so that no other load of the machine was to blame.
bool slept(const Use& use);

// The account of one student, charged file by file in the order of the course.
class Account {
 public:
  explicit Account(double budget_s) : left_s_(budget_s) {}
  bool is_open() const { return left_s_ > 0; }
  void charge(double seconds) { left_s_ -= seconds; }

 private:
  double left_s_;
};

// The budget of a run's settings record; endless when it names none.
double budget_of(const nlohmann::json& settings);

// All students' accounts while units are being judged.
class Budgets {
 public:
  using File = std::pair<std::string, std::string>;  // address of the exercise, SHA-256

  // No plan: no student, and no budget.
  Budgets() = default;
  // By the plan's record (grades.hpp) and the results there are.
  Budgets(double budget_s, const nlohmann::json& plan, const std::vector<nlohmann::json>& records);

  // The charge of a file that will be judged again alone is provisional.
  enum class Figure : unsigned char { provisional, final };
  void charge(const File& file, double seconds, Figure figure);

  // True if the file is beyond the budget of each student who handed it in, by final figures alone
  // or by provisional ones, too.
  bool beyond(const File& file, Figure counted) const;

 private:
  struct Charge {
    double seconds = 0;
    Figure figure = Figure::final;
  };
  double budget_s_ = 0;
  std::vector<std::vector<File>> files_;  // of each student, in the order of the course
  std::map<File, std::set<std::size_t>> owners_;
  std::map<File, Charge> charges_;
};

}  // namespace lockstep::grader
