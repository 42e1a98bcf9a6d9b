#include "grader/further/submit.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/destination.hpp"
#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/further/commands.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

Options submit_options() {
  Options options("./lab submit", "Packs your files into one archive to hand in.");
  options.option("out", "submission.zip", "the archive to write")
      .flag("json", "list its contents as one JSON document instead of text");
  return options;
}

// By sha256sum, a line a file in the order asked for.
std::vector<std::string> sha256_of(const std::vector<fs::path>& files) {
  std::vector<std::string> argv{"sha256sum", "--"};
  for (const fs::path& file : files) argv.push_back(file.string());
  const CommandResult result = run_command(argv, "/", {});
  std::istringstream lines(result.output);
  std::vector<std::string> digests;
  for (std::string line; std::getline(lines, line);) digests.push_back(line.substr(0, 64));
  if (result.exit_code != 0 || digests.size() != files.size()) {
    throw Error("sha256sum failed: " + result.output);
  }
  return digests;
}

bool is_there(const Lab& lab, const Row& row) {
  return fs::is_regular_file(lab.places.work(*row.exercise));
}

std::string summary(const Lab& lab, const std::vector<Row>& rows, const std::string& archive,
                    std::size_t files) {
  const Totals totals = totals_of(rows);
  std::string out =
      text(archive, " holds ", files, files == 1 ? " file: " : " files: ", totals.solved, " of ",
           totals.exercises, " exercises solved, ", totals.points, " of ", totals.points_max,
           " points, as judged on this machine\n");
  const auto line = [&](const char* label, auto applies) {
    std::string names;
    for (const Row& row : rows) {
      if (applies(row)) names += (names.empty() ? "" : ", ") + row.exercise->handle();
    }
    if (!names.empty()) out += text("  ", padded(label, 15), names, "\n");
  };
  const auto in_state = [&](State state) {
    return [&lab, state](const Row& row) { return is_there(lab, row) && row.state == state; };
  };
  line("not passed", in_state(State::not_yet));
  line("changed since", in_state(State::changed));
  line("updated", in_state(State::updated));
  line("not judged", in_state(State::untouched));
  line("not in it", [&](const Row& row) { return !is_there(lab, row); });
  return wrapped(out, lab.columns);
}

}  // namespace

std::vector<Member> submission_of(const Lab& lab, const std::vector<Row>& rows) {
  std::vector<Row> present;
  for (const Row& row : rows) {
    if (is_there(lab, row)) present.push_back(row);
  }
  if (present.empty()) {
    throw UsageError("work/ has none of the course's files: ./lab start copies them");
  }
  std::sort(present.begin(), present.end(),
            [](const Row& a, const Row& b) { return a.exercise->file() < b.exercise->file(); });
  std::vector<fs::path> hashed{lab.places.manifest()};
  for (const Row& row : present) hashed.push_back(lab.places.work(*row.exercise));
  const auto digests = sha256_of(hashed);
  nlohmann::json about{{"format", 1}, {"course", digests.front()}};
  std::vector<Member> members{{"submission.json", ""}};
  for (std::size_t i = 0; i < present.size(); ++i) {
    const Exercise& exercise = *present[i].exercise;
    about["files"].push_back(
        {{"path", exercise.file()}, {"sha256", digests[i + 1]}, {"state", state_text(present[i])}});
    members.push_back({exercise.file(), read_text(lab.places.work(exercise))});
  }
  members.front().content = about.dump(2) + "\n";
  return members;
}

Exit submit_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(submit_options(), words);
  if (arguments.asks_help()) return print_help(submit_options());
  const auto rows = rows_of(lab, read_progress(lab.places.progress()));
  const auto members = submission_of(lab, rows);
  check_destination("--out", arguments.get("out"));
  const fs::path archive = fs::absolute(arguments.get("out")).lexically_normal();
  write_zip(archive, members);
  if (arguments.flag("json")) {
    auto document = nlohmann::json::parse(members.front().content);
    document["archive"] = archive.string();
    std::cout << document.dump(2) << "\n";
  } else {
    std::cout << summary(lab, rows, arguments.get("out"), members.size() - 1);
  }
  return Exit::passed;
}

}  // namespace lockstep::grader
