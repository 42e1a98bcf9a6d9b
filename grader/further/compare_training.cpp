#include "grader/further/compare_training.hpp"

#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "engine/apps/train_command_line.hpp"
#include "engine/base/error.hpp"
#include "engine/base/temporary_folder.hpp"
#include "engine/base/units.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/further/student_program.hpp"
#include "grader/further/trainer.hpp"
#include "grader/further/training_log.hpp"
#include "grader/lab/command_line.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr CommandLimits limits_of_a_step{.deadline_s = 120, .work_s = 240};

// A model that is large enough for its communication to be seen. Only sizes are computed.
constexpr const char* model =
    "--model gpt --layers 8 --width 1024 --heads 8 --sequence 512 --batch-size 8 --backend sim "
    "--cluster h100 --sizes-only";

struct StepCost {
  std::string who;
  double step_s = 0;
  std::optional<double> exposed_s{};  // of a way that tells it
  std::int64_t bytes = 0;             // sent by rank 0
  std::string memory{};               // of rank 0
  std::string why_not{};              // empty: it ran
};

Words words_in(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Words run_of(const std::string& options) { return words_in(text(model, " ", options)); }

// Reads what the log and the report of the last step say.
void read_costs(const fs::path& log, const std::string& output, StepCost& cost) {
  double until_s = 0;  // the log counts from the beginning
  std::istringstream lines(read_text(log));
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line, nullptr, false);
    if (!event.is_object() || event.value("event", "") != "step") continue;
    const double now_s = event.value("seconds", until_s);
    cost.step_s = now_s - until_s;
    until_s = now_s;
    cost.bytes = event.value("bytes_sent", cost.bytes);
    if (event.contains("exposed_s")) cost.exposed_s = event.at("exposed_s");
  }
  std::smatch found;
  const std::regex memory("\n  memory +([0-9.]+ [kMG]?B)");
  if (std::regex_search(output, found, memory)) cost.memory = found[1].str();
}

StepCost costs_of(const std::string& who, const fs::path& program, const std::string& options,
                  const fs::path& folder) {
  StepCost cost{.who = who};
  const fs::path log = folder / "log";
  fs::remove(log);
  std::vector<std::string> argv{program.string()};
  for (const std::string& word : run_of(options)) argv.push_back(word);
  argv.insert(argv.end(), {"--log", log.string()});
  const CommandResult ran = run_command(argv, fs::current_path(), limits_of_a_step);
  const TrainingRun run = training_run(log, ran);
  cost.why_not = run.ended ? run.words : "";
  if (cost.why_not.empty()) read_costs(log, ran.output, cost);
  return cost;
}

json json_of(const StepCost& cost) {
  if (!cost.why_not.empty()) return {{"who", cost.who}, {"message", cost.why_not}};
  return {{"who", cost.who},
          {"step_s", cost.step_s},
          {"exposed_s", cost.exposed_s ? json(*cost.exposed_s) : json()},
          {"bytes_sent", cost.bytes},
          {"memory", cost.memory}};
}

void print_costs(const std::vector<StepCost>& rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::cout << "  " << std::left << std::setw(12) << cells[0] << std::right;
    for (std::size_t i = 1; i < cells.size(); ++i) std::cout << std::setw(18) << cells[i];
    std::cout << "\n";
  };
  line({"", "a step takes", "of it exposed", "bytes per rank", "memory of rank 0"});
  for (const StepCost& row : rows) {
    if (!row.why_not.empty()) {
      std::cout << "  " << std::left << std::setw(12) << row.who << row.why_not << "\n";
      continue;
    }
    line({row.who, seconds_text(row.step_s), row.exposed_s ? seconds_text(*row.exposed_s) : "-",
          std::to_string(row.bytes), row.memory});
  }
  std::cout << "simulated, in float32; exposed: communication while nothing is computed\n";
}

}  // namespace

Exit compare_training(const Lab& lab, const Exercise& part, const Arguments& arguments) {
  const fs::path mine = lab.places.work(part);
  if (!fs::is_regular_file(mine) || is_pristine(lab.places, part)) {
    throw UsageError(lab.places.shown(mine) + " is not written yet; ./lab show " + part.handle() +
                     " prints the task");
  }
  const CalledBy& how = part.called_by;
  const Options options = apps::train_options();
  const Arguments run = parsed(options, run_of(how.compare)),
                  other = parsed(options, run_of(how.compare_with));
  const std::string trainer = ready_trainer(lab, {&run, &other});
  const TemporaryFolder folder("compare");
  const StudentProgram train(lab, trainer);
  const fs::path engine = lab.places.build / "bin" / trainer;
  const fs::path own = train.link({{&part, mine}}, (folder.path() / "train").string());
  std::vector<StepCost> rows;
  if (!how.compare_with.empty()) {
    rows.push_back(costs_of("without", engine, how.compare_with, folder.path()));
  }
  rows.push_back(costs_of("yours", own, how.compare, folder.path()));
  const bool ran = rows.back().why_not.empty();
  rows.push_back(costs_of("reference", engine, how.compare, folder.path()));
  if (arguments.flag("json")) {
    json out{{"exercise", part.name}, {"run", text(model, " ", how.compare)}};
    out["rows"] = json::array();
    for (const StepCost& row : rows) out["rows"].push_back(json_of(row));
    std::cout << out.dump(2) << "\n";
  } else {
    std::cout << part.name << " in ./lab train " << how.compare;
    if (!how.compare_with.empty()) std::cout << "; without: " << how.compare_with;
    std::cout << "\n";
    print_costs(rows);
  }
  return ran ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
