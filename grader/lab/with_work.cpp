// lab-tool with-work: the engine's trainer, or another of its programs, with those of the student's
// parts that pass. Standard output is for ./lab train --with work: the program's path, and in a
// second line an option that the trainer needs so that these parts are called. What is whose goes
// to standard error.
#include <algorithm>
#include <iostream>
#include <optional>
#include <string_view>

#include "engine/base/error.hpp"
#include "grader/course/text_file.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/student_program.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// "" when the student has written the part, otherwise why its reference is used.
std::string reason_without_judging(const Lab& lab, const Exercise& part) {
  const fs::path file = lab.places.work(part);
  if (!fs::exists(file)) return "no file in work/";
  return read_text(file) == read_text(lab.places.stub(part)) ? "not written yet" : "";
}

// "" when the student's part passes, otherwise why its reference is used.
std::string reason_for_reference(const Lab& lab, const Exercise& part) {
  const std::string unwritten = reason_without_judging(lab, part);
  if (!unwritten.empty()) return unwritten;
  const fs::path file = lab.places.work(part);
  if (state_of(lab, part, read_progress(lab.places.progress())) == State::solved) return "";
  JudgeOptions options;
  options.limits = lab.limits;
  const Report report = grade_file(lab, part, file, options).report;
  note_standing(lab, part, report);
  return report.verdict == sim::Verdict::pass ? "" : std::string(name_of(report.verdict));
}

// Called where gradients are averaged after backward, and not by DDP, which does it meanwhile.
bool is_of_the_plain_way(const Exercise& part) {
  return part.name == "average_gradients" || part.name == "data_parallel_step";
}

// What --all-reduce is told for a part: "halving-doubling" for halving_doubling_all_reduce.
std::optional<std::string> all_reduce_option(std::string part) {
  if (part == "reduce_scatter") return "hierarchical";
  const std::string_view ending = "_all_reduce";
  if (!part.ends_with(ending)) return std::nullopt;
  part.resize(part.size() - ending.size());
  std::replace(part.begin(), part.end(), '_', '-');
  return part;
}

// The hierarchical one calls the ring between nodes.
bool runs(const std::string& all_reduce, const Arguments& run) {
  const std::string& asked = run.get("all-reduce");
  return asked == all_reduce || (asked == "hierarchical" && all_reduce == "ring");
}

// "yours", and whether the run will call it: some parts run only when they are asked for.
std::string words_for_yours(const Exercise& part, const Arguments& run) {
  if (run.get("program") != "train") return "yours";
  if (const auto option = all_reduce_option(part.name); option && !runs(*option, run)) {
    return "yours, unused without --all-reduce " + *option;
  }
  if (part.name == "prefetching_loader" && run.get("workers") == "0") {
    return "yours, unused without --workers";
  }
  if (part.name == "scale_learning_rate" && run.get("lr-scaling") == "no") {
    return "yours, unused without --lr-scaling";
  }
  if (part.name == "split_groups") return "yours, unused: this run makes no groups in the group";
  if (is_of_the_plain_way(part) && run.get("overlap") == "yes") {
    return "yours, unused with options of DDP";
  }
  return "yours";
}

}  // namespace

Exit with_work_command(const Lab& lab, const Words& words) {
  Options options("lab-tool with-work", "Links a program with your parts that pass.");
  options.option("program", "train", "which; the options below are the trainer's")
      .list("always", "a part of yours that is linked though it may not pass")
      .option("all-reduce", "native", "the one the run will use")
      .option("workers", "0", "those of the run's loader")
      .choice("overlap", {"unsaid", "yes", "no"}, "unsaid", "what the run was told of DDP")
      .choice("lr-scaling", {"no", "yes"}, "no", "whether the run scales its rate");
  const Arguments arguments = parsed(options, words);
  if (arguments.asks_help()) return print_help(options);
  const std::string& name = arguments.get("program");
  const StudentProgram program(lab, name);
  std::vector<const Exercise*> yours;
  for (const Exercise& part : lab.course.exercises) {
    if (part.kind != Kind::code || !program.has(part)) continue;
    const bool always = std::ranges::count(arguments.list("always"), part.name) > 0;
    const std::string reason =
        always ? reason_without_judging(lab, part) : reason_for_reference(lab, part);
    std::cerr << "  " << part.name << ": "
              << (reason.empty() ? words_for_yours(part, arguments)
                                 : "the reference (" + reason + ")")
              << "\n";
    if (reason.empty()) yours.push_back(&part);
  }
  std::cout << program.link(yours, name).string() << "\n";
  const bool plain =
      std::ranges::any_of(yours, [](const Exercise* part) { return is_of_the_plain_way(*part); });
  if (name == "train" && plain && arguments.get("overlap") == "unsaid")
    std::cout << "--no-overlap\n";
  return Exit::passed;
}

}  // namespace lockstep::grader
