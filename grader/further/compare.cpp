// ./lab compare: what a collective costs on number of simulated ranks, yours beside the reference,
// what one writes first, and the group's own. Each runs as a program of its own under a deadline,
// so that a part which crashes or never ends is a row of the table too.
#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/temporary_folder.hpp"
#include "engine/base/units.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/further/commands.hpp"
#include "grader/further/compare_training.hpp"
#include "grader/further/student_program.hpp"
#include "grader/lab/command_line.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double deadline_s = 60;

struct ComparedRow {
  std::string who, program;
  json report;          // what ./lab sim --json said; null where it said nothing
  std::string verdict;  // "pass", or what went wrong …
  std::string message;  // … in a sentence

  bool ran() const { return verdict == "pass"; }
};

Options compare_options() {
  Options options(
      "./lab compare",
      "Compares the cost of your part with the reference. A collective is also compared "
      "with the naive version and the library's, and a part that a training run calls "
      "with another way to do it; --ranks and the options behind it are for "
      "collectives.");
  options.words("NAME", "the exercise")
      .option("ranks", "8", "number of simulated ranks")
      .option("count", "65536", "elements per rank")
      .option("dtype", "float32", "element type")
      .option("cluster", "", "the modelled cluster (./lab sim --help lists them)")
      .flag("sizes-only", "send only sizes, no values, for thousands of ranks")
      .flag("json", "print one JSON document instead of text");
  return options;
}

std::vector<std::string> words_of_run(const Arguments& arguments) {
  std::vector<std::string> words{"--json"};
  for (const std::string name : {"ranks", "count", "dtype", "cluster"}) {
    if (name == "cluster" && !arguments.given(name)) continue;
    words.insert(words.end(), {"--" + name, arguments.get(name)});
  }
  if (arguments.flag("sizes-only")) words.push_back("--sizes-only");
  return words;
}

// The report stands at the end: whatever a part printed comes before it.
json report_in(const std::string& output) {
  const auto at = output.rfind("{\n  \"program\"");
  return at == std::string::npos ? json() : json::parse(output.substr(at), nullptr, false);
}

std::string last_line(std::string output) {
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return sim::printable(output.substr(output.rfind('\n') + 1), 400);
}

ComparedRow run_row(const std::string& who, const fs::path& binary, const std::string& program,
                    std::vector<std::string> words, const fs::path& folder) {
  ComparedRow row{who, program, {}, "pass", {}};
  words.insert(words.begin(), binary.string());
  words.push_back(program);
  const CommandResult ran =
      run_command(words, folder, {.deadline_s = deadline_s, .work_s = deadline_s});
  row.report = report_in(ran.output);
  if (ran.timed_out) {
    row.verdict = "time";
    row.message = text("stopped at the deadline of ", deadline_s, " s: an endless loop?");
  } else if (row.report.is_object() && row.report["finding"].is_object()) {
    row.verdict = row.report["finding"]["verdict"];
    row.message = row.report["finding"]["message"];
  } else if (ran.exit_code > 128) {
    row.verdict = "crash";
    row.message = text("stopped by signal ", ran.exit_code - 128);
  } else if (ran.exit_code == 2) {
    throw UsageError(last_line(ran.output));
  } else if (ran.exit_code != 0 || !row.report.is_object()) {
    row.verdict = "crash";
    row.message = last_line(ran.output);
  }
  return row;
}

ComparedRow yours(const Lab& lab, const StudentProgram& sim, const Exercise& part,
                  const std::vector<std::string>& words) {
  ComparedRow row{
      "yours", part.name, {}, "missing", "there is no " + lab.places.shown(lab.places.work(part))};
  if (!fs::is_regular_file(lab.places.work(part))) return row;
  if (is_pristine(lab.places, part)) {
    row.verdict = "unsolved";
    row.message = lab.places.shown(lab.places.work(part)) + " is not written yet";
    return row;
  }
  try {
    const TemporaryFolder folder("compare");  // two comparisons may run at once
    const fs::path program =
        sim.link({{&part, lab.places.work(part)}}, (folder.path() / "sim").string());
    return run_row("yours", program, part.name, words, lab.places.root);
  } catch (const UsageError& error) {
    row.verdict = "compile error";
    row.message = error.what();
  }
  return row;
}

// The bytes that the usual algorithm would send, for a collective that is priced and not sent.
double modelled_bytes(const json& report) {
  sim::Counters counters;
  for (const json& one : report.at("collectives")) {
    for (auto kind = sim::Collective::broadcast; kind <= sim::Collective::barrier;
         kind = static_cast<sim::Collective>(static_cast<int>(kind) + 1)) {
      if (name_of(kind) != one.at("kind").get<std::string>()) continue;
      const std::vector<double> entered(report.at("ranks").get<std::size_t>());
      counters.collectives.push_back({kind, 0, one.at("bytes"), entered, 0});
    }
  }
  return busiest_rank_bytes(counters);
}

bool is_modelled(const ComparedRow& row) {
  return row.ran() && !row.report.at("collectives").empty();
}

std::int64_t bytes_per_rank(const ComparedRow& row) {
  if (is_modelled(row)) return std::llround(modelled_bytes(row.report));
  return row.report.at("bytes_max");
}

json json_of(const ComparedRow& row) {
  json out{{"who", row.who}, {"program", row.program}, {"verdict", row.verdict}};
  if (!row.ran()) {
    out["message"] = row.message;
    return out;
  }
  out["bytes_per_rank"] = bytes_per_rank(row);
  out["modelled"] = is_modelled(row);
  for (const char* field : {"depth", "messages", "virtual_s", "wall_s"}) {
    out[field] = row.report.at(field);
  }
  return out;
}

void print_table(const std::vector<ComparedRow>& rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::cout << "  " << std::left << std::setw(28) << cells[0] << std::right;
    for (std::size_t i = 1; i < cells.size(); ++i)
      std::cout << std::setw(i == 2 ? 18 : 14) << cells[i];
    std::cout << "\n";
  };
  line({"", "steps", "bytes per rank", "messages", "virtual time", "simulated in"});
  bool modelled = false;
  for (const ComparedRow& row : rows) {
    const std::string who =
        row.who == row.program ? row.who : text(row.who, " (", row.program, ")");
    const std::string name = row.who == "yours" || row.who == "reference" ? row.who : who;
    if (!row.ran()) {
      // The core's sentences begin with the verdict, others do not.
      const std::string head = row.message.starts_with(row.verdict) ? "" : row.verdict + ": ";
      std::cout << "  " << std::left << std::setw(28) << name << head << row.message << "\n";
      continue;
    }
    const bool priced = is_modelled(row);
    modelled = modelled || priced;
    const auto whole = [](const json& number) {
      return std::to_string(number.get<std::int64_t>());
    };
    line({name, priced ? "-" : whole(row.report["depth"]),
          std::to_string(bytes_per_rank(row)) + (priced ? "*" : ""),
          priced ? "-" : whole(row.report["messages"]), seconds_text(row.report["virtual_s"]),
          seconds_text(row.report["wall_s"])});
  }
  std::cout << "steps: the longest chain of messages; bytes: sent by the busiest rank\n";
  if (modelled) std::cout << "* modelled: one operation, with the traffic of its usual algorithm\n";
}

}  // namespace

Exit compare_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(compare_options(), words);
  if (arguments.asks_help()) return print_help(compare_options());
  const Exercise& part = one_exercise(lab, arguments);
  if (!part.called_by.compare.empty()) return compare_training(lab, part, arguments);
  const StudentProgram sim(lab, "sim");
  if (part.kind == Kind::quiz || !sim.has(part)) {
    throw UsageError(text("no run is set up in which ", part.handle(),
                          " can be compared; collectives have one, and some "
                          "parts of training runs; ./lab check ",
                          part.handle(), " judges it"));
  }
  const fs::path engine = lab.places.build / "bin" / "sim";
  const auto run = words_of_run(arguments);
  std::vector<ComparedRow> rows;
  const auto add = [&](const std::string& who, const std::string& program) {
    rows.push_back(run_row(who, engine, program, run, lab.places.root));
  };
  if (!part.baseline.empty()) add("baseline", part.baseline);
  rows.push_back(yours(lab, sim, part, run));
  const bool passed = rows.back().ran();
  add("reference", part.name);
  if (!part.native.empty()) add("native", part.native);

  if (arguments.flag("json")) {
    json out{{"exercise", part.name}, {"rows", json::array()}};
    for (const char* name : {"ranks", "count", "dtype", "cluster"}) out[name] = arguments.get(name);
    for (const ComparedRow& row : rows) out["rows"].push_back(json_of(row));
    std::cout << out.dump(2) << "\n";
  } else {
    std::cout << part.name << " of " << arguments.get("count") << " " << arguments.get("dtype")
              << " on " << counted(arguments.integer("ranks"), "rank") << "\n";
    print_table(rows);
  }
  return passed ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
