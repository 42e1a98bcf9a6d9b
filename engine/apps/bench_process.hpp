// Measured processes: how they are started and ended, and what those of the training benchmark say.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/temporary_folder.hpp"
#include "engine/launch/signals.hpp"

namespace lockstep::bench {

using Json = nlohmann::ordered_json;

// One process of one side. Its repetitions are drawn together by their median.
struct Sample {
  std::string program, how;  // "PyTorch 2.15.0", "eager, products by oneDNN, fused optimizer"
  double steps_per_s = 0;
  double steps_per_cpu_s = 0;  // of processor time: what others on the machine take is not in it
  double peak_mib = 0;
  double startup_s = 0;          // from the start of the process to a model that is ready to train
  double hidden = std::nan("");  // share of the communication that ran behind backward, in percent
  // The losses of the first step, of the last step of the warm-up, and of the last step of the
  // first repetition.
  double first_loss = 0, early_loss = 0, last_loss = 0;
};

double median(std::vector<double> values);

// The command that starts `ranks` processes of a program with the launcher that lies beside this
// one. Only rank 0 keeps its lines as they are.
std::vector<std::string> launched(int ranks, const std::vector<std::string>& command);

// A size of a group in words, from 1; `least` and what it may be are in the error.
//   Throws  UsageError
int ranks_of(const std::string& word, int least);
// The items between the commas of a list.
std::vector<std::string> parts_of(const std::string& list);

// Files that do not exist yet, for the ranks of PyTorch to meet in.
class Meeting {
 public:
  std::string next();  // a new path each time

 private:
  TemporaryFolder folder_{"bench"};
  int files_ = 0;
};

// A signal asked the bench to end; what() is "interrupted by SIGINT".
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Runs one process at a time. From when it is made it hears the signals that ask the bench to end,
// so that no process is left and what was measured so far can be printed.
//   Requires  no other thread runs
//   Throws    Interrupted, when the process that runs and all its ranks are gone
class Runner {
 public:
  // Throws UsageError where LOCKSTEP_CPU_ISA chooses what this processor does not have.
  Runner();

  struct Ended {
    std::string output;  // stdout; stderr is ours
    int status = 0;      // as wait() has it
    double wall_s = 0;
    std::int64_t peak_bytes = 0;
  };
  // On one thread.
  Ended run(const std::vector<std::string>& command);
  // The last line it prints, which is a JSON object.
  //   Throws  Error with the command when it fails or prints something else
  Json run_for_json(const std::vector<std::string>& command);
  // The same, of a training process that prints what bench-train does; without one of its fields
  // that is an Error too.
  Sample run_training(const std::vector<std::string>& command);
  // Throws apps::Lacking, with what to type, when this Python has no PyTorch. `bench` is what is
  // measured: "train".
  void require_torch(const std::string& python, const std::string& bench);
  bool succeeds(const std::vector<std::string>& command);  // and what it prints is thrown away

 private:
  launch::Signals signals_;
  const std::vector<std::string> environment_;  // what is set for each command, "NAME=value"
};

// The words of a measured command as one line, for an error.
std::string line_of(const std::vector<std::string>& command);

// Keeps this process and its children on the last of the cores it may use; that core, or -1 where
// the system refuses.
int pin_to_one_core();

}  // namespace lockstep::bench
