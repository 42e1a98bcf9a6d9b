// lab-tool train, generate, sim and run: programs of the engine with other parts than the
// references, which are the student's (--with work) or wrong on purpose (--break). Their command
// lines are those of the programs themselves; what needs another program is done here, and then
// this process becomes it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <optional>

#include "engine/apps/run_command_line.hpp"
#include "engine/apps/sim_command_line.hpp"
#include "engine/apps/torchrun_words.hpp"
#include "engine/apps/train_command_line.hpp"
#include "engine/base/error.hpp"
#include "grader/further/broken_run.hpp"
#include "grader/further/commands.hpp"
#include "grader/further/trainer.hpp"
#include "grader/further/with_work.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/ready.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

fs::path program_named(const Lab& lab, const std::string& name) {
  return lab.places.build / "bin" / name;
}

[[noreturn]] void become(const fs::path& program, const Words& words) {
  std::cout << std::flush;
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  throw Error(text("cannot start ", program.string(), ": ", std::strerror(errno)));
}

// The path of a program of the engine, linked with the student's parts.
//   words  what the program is given; options are added, so that its parts are called
fs::path own_program(const Lab& lab, const fs::path& typed, Words& words) {
  std::optional<Arguments> run;
  std::string name = typed.filename().string();
  const fs::path program = program_named(lab, name);
  if (fs::weakly_canonical(typed) == fs::weakly_canonical(program)) {
    make_targets_ready(lab, {name});
    if (name == "train") {
      run = parsed(apps::train_options(), words);
      name = ready_trainer(lab, {&*run});
    }
  }
  if (!fs::exists(program)) {
    throw UsageError(text("--with work needs a program of the engine, such as ",
                          lab.places.shown(program_named(lab, "smoke")), ", not '", typed.string(),
                          "'"));
  }
  const WithWork linked = linked_with_work(lab, name, {}, run ? &*run : nullptr);
  words.insert(words.begin(), linked.added.begin(), linked.added.end());
  return linked.program;
}

}  // namespace

Exit train_command(const Lab& lab, const Words& as_typed) {
  const Options options = apps::train_options();
  const Words words = apps::in_our_words(as_typed, options);
  const Arguments typed = read_words(options, words);
  if (typed.asks_help()) return print_help(options);
  if (typed.has("--break")) return run_broken(lab, options, typed);
  const Arguments run = parsed(options, words);
  const std::string trainer = ready_trainer(lab, {&run});
  if (!run.given("with")) become(program_named(lab, trainer), words);
  const WithWork linked = linked_with_work(lab, trainer, {}, &run);
  Words line(linked.added.begin(), linked.added.end());
  for (const std::string& word : typed_without(run, {"with"})) line.push_back(word);
  become(linked.program, line);
}

// The program reads its own words, but for the two that ask for other parts.
Exit generate_command(const Lab& lab, const Words& words) {
  Words line = words;
  std::erase(line, "--with=work");
  const auto with = std::ranges::find(line, "--with");
  if (with != line.end() && std::next(with) != line.end() && *std::next(with) == "work") {
    line.erase(with, with + 2);
  }
  if (line == words) become(program_named(lab, "generate"), words);
  become(linked_with_work(lab, "generate", {}, nullptr).program, line);
}

// The named PROGRAM runs as the student wrote it, whether it passes or not: a simulator shows what
// is wrong with it.
Exit sim_command(const Lab& lab, const Words& words) {
  const Options options = apps::sim_options();
  const Arguments run = parsed(options, words);
  if (run.asks_help()) return print_help(options);
  if (!run.given("with")) become(program_named(lab, "sim"), words);
  Words line = typed_without(run, {"with"});
  line.insert(line.end(), run.words().begin(), run.words().end());
  become(linked_with_work(lab, "sim", run.words(), nullptr).program, line);
}

Exit launch_command(const Lab& lab, const Words& typed) {
  const Options options = apps::run_options();
  const Words words = apps::in_our_words(typed, options);
  const Arguments run = parsed(options, words);
  if (run.asks_help()) return print_help(options);
  const fs::path launcher = program_named(lab, "lockstep-run");
  if (!run.given("with") || run.rest().empty()) become(launcher, words);
  Words line = typed_without(run, {"with", "backend"});
  line.push_back("--");
  Words of_program;
  if (run.given("backend")) of_program = {"--backend", run.get("backend")};
  of_program.insert(of_program.end(), run.rest().begin() + 1, run.rest().end());
  line.push_back(own_program(lab, run.rest().front(), of_program).string());
  line.insert(line.end(), of_program.begin(), of_program.end());
  become(launcher, line);
}

}  // namespace lockstep::grader
