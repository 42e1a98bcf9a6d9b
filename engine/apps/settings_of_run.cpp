#include "engine/apps/settings_of_run.hpp"

#include <array>
#include <charconv>
#include <vector>

namespace lockstep::apps {
namespace {

constexpr const char* steps_note = "steps of the run";
constexpr const char* rate_note = "rate of the last step";

// The shortest digits that are read as this number again.
std::string shortest(double number) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  return {digits, end};
}

std::string rounded(double number) {
  constexpr int figures = 3;
  char digits[32];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, figures);
  return {digits, end};
}

// Options whose value, typed or by default, changes what the following steps do. Ranks and batch
// are told as the global batch; what must stay the same is refused, not told.
constexpr std::array as_typed{"lr-schedule", "warmup",  "lr-scaling",  "base-batch",
                              "compress",    "async",   "all-reduce",  "horovod",
                              "dtype",       "masters", "reduce-dtype"};

std::string value_of(const Arguments& arguments, const char* name) {
  const std::string& value = arguments.get(name);
  return value.empty() ? "not given" : value == "true" ? "on" : value == "false" ? "off" : value;
}

struct Change {
  std::string what, before, now;
};

std::vector<Change> changes(const checkpoint::Metadata& before, const checkpoint::Metadata& now) {
  std::vector<Change> all;
  for (const auto& [name, value] : now) {
    const auto was = before.find(name);
    if (was == before.end() || was->second == value || name == rate_note) continue;
    all.push_back({name, was->second, value});
  }
  return all;
}

}  // namespace

checkpoint::Metadata settings_of(const Arguments& arguments, const RatesOfRun& rates) {
  const optim::OptimizerSpec optimizer = optimizer_spec(arguments);
  const bool sgd = optimizer.kind == optim::OptimizerKind::sgd;
  checkpoint::Metadata notes{
      {steps_note, text(rates.steps)},
      {rate_note, shortest(rates.last)},
      {"--lr", shortest(optimizer.learning_rate())},
      {"--weight-decay", shortest(sgd ? optimizer.sgd.weight_decay : optimizer.adam.weight_decay)},
      {"--clip", shortest(clip_norm(arguments))}};
  if (sgd) notes["--momentum"] = shortest(optimizer.sgd.momentum);
  for (const char* name : as_typed) {
    if (arguments.declared(name)) notes[text("--", name)] = value_of(arguments, name);
  }
  return notes;
}

std::string told_of_changes(const checkpoint::Metadata& before, const Arguments& arguments,
                            const RatesOfRun& now) {
  std::string told;
  for (const Change& change : changes(before, settings_of(arguments, now))) {
    told += told.empty() ? "" : ", ";
    told += change.what == steps_note
                ? text("the run had ", change.before, " steps and has ", change.now)
                : text(change.what, " was ", change.before, " and is ", change.now);
  }
  const auto last = before.find(rate_note);
  if (told.empty() || last == before.end()) return told;
  const double rate = std::strtod(last->second.c_str(), nullptr);
  const char* const how = now.next > rate ? "goes up" : now.next < rate ? "goes down" : "stays";
  told += now.next == rate ? text("; the learning rate stays at ", rounded(rate))
                           : text("; the learning rate ", how, " from ", rounded(rate), " to ",
                                  rounded(now.next), " in the next step");
  return told;
}

}  // namespace lockstep::apps
