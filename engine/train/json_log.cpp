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

// Adds what was measured of the communication of gradients, if it was measured.
void add(Json& line, const collectives::Communication& communication) {
  const auto hidden = communication.hidden();
  if (!hidden) return;
  line["communication_s"] = communication.total_s;
  line["exposed_s"] = communication.exposed_s;
  line["hidden"] = *hidden;
}

void add(Json& line, const std::optional<HostCopies>& host) {
  if (!host) return;
  line["host_bytes_down"] = host->bytes.down;
  line["host_bytes_up"] = host->bytes.up;
  if (host->total_s == 0) return;  // nobody has timed them
  line["host_copies_s"] = host->total_s;
  line["host_copies_exposed_s"] = host->exposed_s;
}

void add(Json& line, const std::optional<StageTimes>& stages) {
  if (!stages) return;
  line["stages_busy_s"] = stages->busy_s;
  line["stages_span_s"] = stages->span_s;
  line["bubble"] = stages->bubble_of_total();
}

void add(Json& line, const std::optional<nn::Routing>& routing) {
  if (!routing) return;
  line["aux_loss"] = routing->aux_loss;
  line["choices"] = routing->choices;
  line["dropped"] = routing->dropped;
  Json blocks = Json::array();
  for (auto at = routing->load.begin(); at != routing->load.end(); at += routing->experts) {
    blocks.push_back(std::vector<double>(at, at + routing->experts));
  }
  line["expert_load"] = blocks;
}

}  // namespace

JsonLog::JsonLog(const std::string& path, const RunDescription& run, LogFile begin)
    : path_(path), file_(path, begin == LogFile::append ? std::ios::app : std::ios::trunc) {
  Json start{{"event", "start"},
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
             {"reduction", run.reduction},
             {"compression", run.compression},
             {"options", run.options},
             {"batch_size", run.batch_size},
             {"accumulate", run.accumulate},
             {"global_batch", run.batch_size * run.accumulate * run.shares},
             {"steps", run.steps},
             {"seed", run.seed}};
  if (run.data_hash) start["data_hash"] = hexadecimal(*run.data_hash);
  put(start.dump());
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
  Json line{{"event", "step"},           {"step", report.step},
            {"loss", report.loss},       {"samples_per_s", report.samples_per_s},
            {"seconds", report.seconds}, {"bytes_sent", report.bytes_sent}};
  add(line, report.communication);
  add(line, report.stages);
  add(line, report.host);
  if (report.exchange.total_s > 0) {
    line["exchange_s"] = report.exchange.total_s;
    line["exchange_exposed_s"] = report.exchange.exposed_s;
  }
  add(line, report.routing);
  if (report.staleness) line["staleness"] = *report.staleness;
  if (report.wall_seconds) line["wall_seconds"] = *report.wall_seconds;
  put(line.dump());
}

void JsonLog::on_epoch(const EpochReport& report) {
  Json hashes = Json::array();
  for (const std::uint64_t hash : report.agreement.hashes) hashes.push_back(hexadecimal(hash));
  put(Json{{"event", "epoch"},
           {"epoch", report.epoch},
           {"train_loss", report.train_loss},
           {"test_loss", report.test_loss},
           {"test_accuracy", report.test_accuracy},
           {"parameters_hash", hashes}}
          .dump());
}

void JsonLog::on_end(const Summary& summary) {
  Json line{{"event", "end"},
            {"seconds", summary.seconds},
            {"samples_per_s", summary.samples_per_s},
            {"test_accuracy", summary.test_accuracy},
            {"replicas_equal", summary.replicas_equal}};
  add(line, summary.communication);
  add(line, summary.stages);
  if (!summary.asynchrony.staleness.empty()) line["staleness"] = summary.asynchrony.staleness;
  if (!summary.asynchrony.lost.empty()) line["lost"] = summary.asynchrony.lost;
  if (summary.wall_seconds) line["wall_seconds"] = *summary.wall_seconds;
  if (summary.stopped_by != 0) line["stopped_by"] = summary.stopped_by;
  put(line.dump());
}

}  // namespace lockstep::train
