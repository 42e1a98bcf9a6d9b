#include "engine/train/json_log.hpp"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"

namespace lockstep::train {
namespace {

using Json = nlohmann::ordered_json;  // fields in the order they are written here

std::string hexadecimal(std::uint64_t hash) {
  std::ostringstream out;
  out << std::hex << std::setfill('0') << std::setw(16) << hash;
  return out.str();
}

}  // namespace

JsonLog::JsonLog(const std::string& path, const RunDescription& run, LogFile begin)
    : path_(path), file_(path, begin == LogFile::append ? std::ios::app : std::ios::trunc) {
  put(Json{{"event", "start"},
           {"model", run.model},
           {"parameters", run.parameters},
           {"data", run.data},
           {"ranks", run.ranks},
           {"backend", run.backend},
           {"device", run.device},
           {"dtype", run.dtype},
           {"kernels", run.kernels},
           {"all_reduce", run.all_reduce},
           {"optimizer", run.optimizer},
           {"learning_rate", run.learning_rate},
           {"batch_size", run.batch_size},
           {"global_batch", run.batch_size * run.ranks},
           {"steps", run.steps},
           {"seed", run.seed}}
          .dump());
}

// Each line is handed over at once, so that the log of a run that dies tells how far it came.
void JsonLog::put(const std::string& line) {
  file_ << line << "\n" << std::flush;
  if (!file_) {
    throw UsageError(text("the log ", path_,
                          " cannot be written; is its folder there, is the disk ",
                          "full? Pass another --log"));
  }
}

void JsonLog::on_step(const StepReport& report) {
  put(Json{{"event", "step"},
           {"step", report.step},
           {"loss", report.loss},
           {"samples_per_s", report.samples_per_s},
           {"seconds", report.seconds},
           {"bytes_sent", report.bytes_sent}}
          .dump());
}

void JsonLog::on_epoch(const EpochReport& report) {
  Json hashes = Json::array();
  for (const std::uint64_t hash : report.hashes) hashes.push_back(hexadecimal(hash));
  put(Json{{"event", "epoch"},
           {"epoch", report.epoch},
           {"train_loss", report.train_loss},
           {"test_loss", report.test_loss},
           {"test_accuracy", report.test_accuracy},
           {"parameters_hash", hashes}}
          .dump());
}

void JsonLog::on_end(const Summary& summary) {
  put(Json{{"event", "end"},
           {"seconds", summary.seconds},
           {"samples_per_s", summary.samples_per_s},
           {"test_accuracy", summary.test_accuracy},
           {"replicas_equal", summary.replicas_equal}}
          .dump());
}

}  // namespace lockstep::train
