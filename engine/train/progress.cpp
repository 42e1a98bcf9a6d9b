#include "engine/train/progress.hpp"

#include <cmath>
#include <cstdio>
#include <ostream>
#include <string>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::train {
namespace {

constexpr double redraw_s = 0.1;  // of the bar
constexpr double line_s = 5.0;    // between plain lines
constexpr int bar_width = 16;
constexpr const char* clear_line = "\r\x1b[K";

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "nan";  // of either sign
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

// 118400.2 → "118,400"
std::string grouped(double value) {
  const std::string digits = fixed(value, 0);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string bar(std::int64_t done, std::int64_t all) {
  const auto filled = static_cast<std::size_t>(bar_width * done / all);
  return text("[", std::string(filled, '#'), std::string(bar_width - filled, '.'), "]");
}

std::string about_replicas(const Agreement& agreement) {
  const std::size_t ranks = agreement.hashes.size();
  if (ranks == 1) return "one replica";
  const bool replicas = agreement.holders == Agreement::Holders::replicas;
  if (agreement.differs >= 0) {
    return text(replicas ? "THE REPLICAS DIFFER" : "COPIES OF A PARAMETER DIFFER", ": rank ",
                agreement.differs, " has other parameters than ",
                replicas ? "rank 0" : "a rank before it");
  }
  if (!replicas) return text("what several of the ", ranks, " ranks hold is equal bit for bit");
  return text("the ", ranks, " replicas are equal bit for bit");
}

// "8 experts: in the last step, the fullest of a block had 1.42 times the mean; 3.1 % of all
// choices were dropped"
std::string about_experts(const nn::Routing& routing) {
  const double dropped = routing.choices > 0 ? 100 * routing.dropped / routing.choices : 0;
  std::string told =
      text(counted(routing.experts, "expert"), ": in the last step, the fullest of a block had ",
           fixed(routing.imbalance(), 2), " times the mean; ", fixed(dropped, 1),
           " % of all choices were dropped");
  if (routing.aux_loss > 0) told += text("; aux loss ", fixed(routing.aux_loss, 4));
  return told;
}

// "staleness of 96 pushes: 0 of 12, 1 of 40, 2 of 44; the mean is 1.3"
std::string about_staleness(const std::vector<std::int64_t>& histogram) {
  std::int64_t pushes = 0, sum = 0;
  std::string list;
  for (std::size_t staleness = 0; staleness < histogram.size(); ++staleness) {
    const std::int64_t count = histogram[staleness];
    if (count == 0) continue;
    pushes += count;
    sum += count * static_cast<std::int64_t>(staleness);
    list += text(list.empty() ? "" : ", ", staleness, " of ", count);
  }
  return text("staleness of ", pushes, pushes == 1 ? " push: " : " pushes: ", list,
              "; the mean is ", fixed(static_cast<double>(sum) / static_cast<double>(pushes), 1));
}

}  // namespace

void Progress::on_step(const StepReport& report) {
  const double weight = steps_seen_++ == 0 ? 1.0 : 0.05;
  smooth_loss_ += weight * (report.loss - smooth_loss_);
  smooth_rate_ += weight * (report.samples_per_s - smooth_rate_);
  const bool terminal = output_ == Output::terminal;
  const double now_s = report.wall_seconds.value_or(report.seconds);
  if (now_s - shown_at_s_ < (terminal ? redraw_s : line_s)) return;
  shown_at_s_ = now_s;
  if (terminal) out_ << clear_line << bar(report.step, report.steps) << " ";
  out_ << "step " << report.step << "/" << report.steps;
  if (!std::isnan(report.loss)) out_ << "  smoothed loss " << fixed(smooth_loss_, 4);
  if (report.routing && report.routing->aux_loss > 0) {
    out_ << "  aux loss " << fixed(report.routing->aux_loss, 4);
  }
  if (rates_ == Rates::shown) out_ << "  " << grouped(smooth_rate_) << " samples/s";
  out_ << (terminal ? "" : "\n") << std::flush;
}

void Progress::on_epoch(const EpochReport& report) {
  if (output_ == Output::terminal) out_ << clear_line;
  out_ << "epoch " << report.epoch << ": train loss " << fixed(report.train_loss, 4)
       << ", test loss " << fixed(report.test_loss, 4) << ", test accuracy "
       << fixed(100 * report.test_accuracy, 2) << " %; " << about_replicas(report.agreement) << "\n"
       << std::flush;
}

void Progress::on_end(const Summary& summary) {
  out_ << "trained in ";
  if (summary.wall_seconds) {
    out_ << seconds_text(summary.seconds) << " of virtual time (" << fixed(*summary.wall_seconds, 1)
         << " s here)";
  } else {
    out_ << fixed(summary.seconds, 1) << " s";
  }
  if (rates_ == Rates::shown) out_ << ", " << grouped(summary.samples_per_s) << " samples/s";
  if (!std::isnan(summary.test_accuracy)) {
    out_ << ", test accuracy " << fixed(100 * summary.test_accuracy, 2) << " %";
  }
  out_ << "\n";
  if (summary.stages) {
    out_ << "the stages stood idle for " << fixed(100 * summary.stages->bubble_of_total(), 1)
         << " % of their time (the bubble; " << fixed(100 * summary.stages->bubble_of_ideal(), 1)
         << " % of the time that they computed)\n";
  }
  if (summary.routing.experts > 0) out_ << about_experts(summary.routing) << "\n";
  const Asynchrony& asynchrony = summary.asynchrony;
  if (!asynchrony.staleness.empty()) out_ << about_staleness(asynchrony.staleness) << "\n";
  for (const std::string& sentence : asynchrony.lost) out_ << sentence << "\n";
  out_ << std::flush;
}

}  // namespace lockstep::train
