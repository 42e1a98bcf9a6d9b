// ./lab trace: the timeline of the last run that an exercise was judged by, as a page to look at.
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/trace/data.hpp"
#include "engine/trace/page.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/further/commands.hpp"
#include "grader/lab/command_line.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

Options trace_options() {
  Options options(
      "./lab trace",
      "Writes the timeline of an exercise's last check: the failing case, or the largest.");
  options.words("NAME", "the exercise")
      .option("out", "", "the file to write (default: build/traces/NAME.html)")
      .flag("chrome", "also write NAME.json for ui.perfetto.dev and chrome://tracing");
  return options;
}

trace::Timeline last_run(const Lab& lab, const Exercise& exercise) {
  const fs::path file = lab.places.timeline(exercise);
  if (exercise.kind == Kind::quiz) throw UsageError(exercise.handle() + " has questions, not runs");
  if (!fs::exists(file)) {
    throw UsageError(
        text("there is no record of ", exercise.handle(), " yet: ./lab check ", exercise.handle(),
             " runs its cases; then ./lab trace shows the failing one, or the largest"));
  }
  trace::Timeline run = trace::read_data(read_text(file));
  if (run.spans.empty() && run.messages.empty() && !run.finding) {
    throw UsageError(exercise.handle() + " runs without communication: there is nothing to draw");
  }
  return run;
}

}  // namespace

Exit trace_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(trace_options(), words);
  if (arguments.asks_help()) return print_help(trace_options());
  const Exercise& exercise = one_exercise(lab, arguments);
  const trace::Timeline run = last_run(lab, exercise);
  fs::path page = lab.places.traces() / (exercise.name + ".html");
  if (arguments.given("out")) page = arguments.get("out");
  trace::check_file_name(page.string());
  if (page.has_parent_path()) fs::create_directories(page.parent_path());
  write_file(page.string(), run);
  std::cout << run.title << "\n  " << lab.places.shown(page) << "   open it in a browser\n";
  if (arguments.flag("chrome")) {
    const fs::path chrome = fs::path(page).replace_extension(".json");
    write_file(chrome.string(), run);
    std::cout << "  " << lab.places.shown(chrome) << "   open it at ui.perfetto.dev\n";
  }
  const fs::path mine = lab.places.work(exercise);
  if (fs::exists(mine) &&
      fs::last_write_time(mine) > fs::last_write_time(lab.places.timeline(exercise))) {
    std::cout << "  your file has changed since: ./lab check " << exercise.handle()
              << " runs it again\n";
  }
  return Exit::passed;
}

}  // namespace lockstep::grader
