// One measured process of the training benchmark: what it is called with, and what it says.
#pragma once

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
  double first_loss = 0, last_loss = 0;
};

double median(std::vector<double> values);

// The command that starts `ranks` processes of a program with the launcher that lies beside this
// one. Only rank 0 keeps its lines as they are.
std::vector<std::string> launched(int ranks, const std::vector<std::string>& command);

// A size of a group in words, from 1; `least` and what it may be are in the error.
//   Throws  UsageError
int ranks_of(const std::string& word, int least);
// What stands between the commas of a list.
std::vector<std::string> parts_of(const std::string& list);

// A folder of files that do not exist yet, for the ranks of PyTorch to meet in; gone at the end.
class Meeting {
 public:
  Meeting();
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  std::string next();  // a new path each time

 private:
  std::filesystem::path path_;
  int files_ = 0;
};

// Runs a command on one thread and reads the last line it prints, which is JSON. What it says to
// standard error goes to ours.
//   Throws  Error with the command when it fails or prints something else
Json run_for_json(const std::vector<std::string>& command);

// The same, of a training process that prints what bench-train does; without one of its fields that
// is an Error too.
Sample run_training(const std::vector<std::string>& command);

// Throws apps::Lacking, with what to type, when this Python has no PyTorch. `bench` is what is
// measured: "train".
void require_torch(const std::string& python, const std::string& bench);

// Keeps this process and its children on the last of the cores it may use; that core, or -1 where
// the system refuses.
int pin_to_one_core();

}  // namespace lockstep::bench
