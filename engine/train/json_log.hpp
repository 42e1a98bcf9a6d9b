// The run as JSON, one object a line, for programs that read it: start, step, epoch, end. The
// fields are those of the observer's reports; parameters_hash and data_hash hold hexadecimal text,
// because JSON numbers do not carry 64 bits everywhere.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "engine/train/observer.hpp"

namespace lockstep::train {

// The fields of the "start" line besides the event.
struct RunDescription {
  std::string model{}, data{}, backend{}, device{}, dtype{}, all_reduce{}, optimizer{}, kernels{};
  std::string reduction{};  // of gradients: "during backward", "after backward", or by whom
  std::string compression = "none";  // of gradients on their way: "fp16", "topk:0.01"
  std::string options{};             // as they were typed: "--fsdp full_shard --masters"
  std::int64_t parameters = 0;
  int ranks = 1;
  int shares = 1;  // of a global batch: ranks, or fewer where several work on one replica
  std::int64_t batch_size = 0;  // of one rank
  std::int64_t accumulate = 1;  // batches a rank and step
  std::int64_t steps = 0;
  double learning_rate = 0;
  std::uint64_t seed = 0;
  // The hash of a text. That of `lessons` changes with every edit of a page, and all losses change
  // with it: only logs with equal hashes are of equal runs.
  std::optional<std::uint64_t> data_hash = std::nullopt;
};

// The treatment of an existing file. A run that goes on appends to the log of the run before.
enum class LogFile : std::uint8_t { replace, append };

class JsonLog final : public Observer {
 public:
  // Opens the file and writes the start line. Throws UsageError when it cannot be written.
  JsonLog(const std::string& path, const RunDescription& run, LogFile begin = LogFile::replace);

  void on_step(const StepReport& report) override;
  void on_epoch(const EpochReport& report) override;
  void on_end(const Summary& summary) override;

 private:
  std::string path_;
  std::ofstream file_;
  void put(const std::string& line);
};

}  // namespace lockstep::train
