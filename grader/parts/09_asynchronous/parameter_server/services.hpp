// The judge as all workers of a server, in virtual time, and as all servers of a worker. Each keeps
// what it saw; a case is over at the first thing that is wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/services.hpp"
#include "grader/parts/09_asynchronous/parameter_server/oracle.hpp"

namespace lockstep::grader::parameter_server {

// When a worker dies: while it computes its next step, soon after a push, or at the beginning,
// without a word.
enum class Death : std::uint8_t { none, computing, pushed, unborn };

// The script of one worker.
struct Worker {
  double step_s = 1;
  int steps = 3;  // after which it finishes, or dies
  Death dies = Death::none;
  bool pulls_at_end = false;  // once more, after its last push
  double starts_s = 0;
};

// The gradients that workers push. Telling gradients have elements of two kinds. In one, those of
// workers 0 and 1 cancel, and lose all that is added in between. In the other, the sum overflows
// and the mean does not. Odd ones: the first worker's second push holds NaN and infinity. Zeros:
// all that the first worker pushes.
enum class Gradients : std::uint8_t { drawn, telling, odd, zeros };

struct Script {
  Members members{};  // the server
  std::vector<Worker> workers{};
  std::int64_t staleness = 1;
  std::int64_t count = 3;  // n
  std::uint64_t salt = 0;  // of gradients and parameters
  Gradients gradients = Gradients::drawn;
  std::uint64_t schedule_seed = 0;

  std::string description() const;
  LoopsCase of_server() const;
  // The values that a worker pushes for the k-th time, from 1.
  Values pushed_by(std::size_t worker, int k) const;
  void ask(Situations& asked) const;
};

// A pull, and when it was answered.
struct Answered {
  int worker = 0;
  double asked_s = 0, answered_s = 0;
  std::string by{};  // what the server took last before it answered: "worker 3's push"
};

class WorkersService final : public TypedService<ServerCall> {
 public:
  explicit WorkersService(const Script& script);

  // The first failure.
  const std::optional<Failure>& failure() const { return failure_; }
  bool returned() const { return returned_; }
  const std::vector<Answered>& answered() const { return answered_; }
  const Values& at_the_end() const { return at_the_end_; }

 private:
  struct State {
    int pushed = 0;
    bool left = false;
    bool waits = false;  // its pull was taken, and is not answered
    // The next request, unless it waits.
    Kind next = Kind::pull;
    double at_s = 0;
  };

  std::optional<Answer> answer(const sim::Actor&, ServerCall call, double now) override;
  std::optional<Failure> late_update(const ServerCall& call) const;
  Answer next_request(double now);
  Answer take_answer(const ServerCall& call, double now);
  Answer take_return(const ServerCall& call, double now);
  Answer stop(Failure failure, double now);

  bool may_pull(std::size_t worker) const;
  std::optional<std::size_t> whose_turn() const;
  void go_on_after(std::size_t worker, Kind kind, double now);
  std::string history() const;
  Failure wrong_values(const std::string& what, const Values& seen) const;

  Script script_;
  LoopsCase case_;
  std::vector<State> states_;
  std::vector<Taken> taken_;
  std::vector<Answered> answered_;
  std::optional<Failure> failure_{};
  Values at_the_end_;
  bool returned_ = false;
};

// A call of work(); each gradient takes step_s.
struct WorkerLoop {
  Members members{};  // the worker
  int steps = 3;
  std::int64_t count = 5;
  std::uint64_t schedule_seed = 0;

  std::string description() const {
    return text("work() with ", counted(steps, "step"), ", ", counted(count, "element"));
  }
};

class ServersService final : public TypedService<WorkerCall> {
 public:
  ServersService(const WorkerLoop& loop, std::uint64_t salt)
      : salt_(salt), count_(loop.count), steps_(loop.steps) {}

  const std::optional<Failure>& failure() const { return failure_; }
  bool returned() const { return returned_; }
  int pulls() const { return pulls_; }

 private:
  std::optional<Answer> answer(const sim::Actor&, WorkerCall call, double now) override;
  Answer stop(Failure failure, double now);
  Answer compute(const WorkerCall& call, double now);
  Answer take_push(const WorkerCall& call, double now);
  std::string step() const {
    return pushes_ < steps_ ? text("step ", pushes_ + 1, " of ", steps_) : "a step after the last";
  }
  Values drawn(std::uint64_t what, int number) const;

  std::uint64_t salt_;
  std::int64_t count_;
  int steps_;
  int pulls_ = 0, gradients_ = 0, pushes_ = 0;
  int pulls_before_push_ = 0, gradients_before_push_ = 0;
  std::optional<Failure> failure_{};
  bool returned_ = false;
};

}  // namespace lockstep::grader::parameter_server
