// Which of a student's parts a run of the trainer calls, by what their manifests say; and what the
// tool says of a command line that is also the trainer's.
#include "grader/further/with_work.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/apps/train_command_line.hpp"
#include "engine/base/error.hpp"
#include "grader/further/kept_objects.hpp"
#include "grader/lab/command_line.hpp"
#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains, lockstep::test::Tree;

namespace {

CalledBy called_by(const std::string& part) {
  const Course course = read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml");
  return exercise_named(course, part).called_by;
}

Arguments options_of_run(const Words& words) { return read_words(apps::train_options(), words); }

// Why a run does not call a part; "called" if it does.
std::string words_of_part(const std::string& part, const Words& run) {
  const std::string why = why_uncalled(called_by(part), options_of_run(run));
  return why.empty() ? "called" : why;
}

// With the lessons, in which the mistakes are.
struct WithLessons : Tree {
  WithLessons() {
    std::filesystem::create_directory_symlink(std::filesystem::path(LOCKSTEP_ROOT) / "lessons",
                                              root() / "lessons");
  }
};

std::string added_for(const std::string& part, const Words& run) {
  return added_option(called_by(part), options_of_run(run));
}

}  // namespace

TEST_CASE(
    "with work: an all-reduce is called where the run asks for it, the ring between nodes too") {
  const auto unused = [](const std::string& value) {
    return "add --all-reduce " + value + " to call it";
  };
  CHECK(words_of_part("ring_all_reduce", {"--ranks", "2"}) == unused("ring"));
  CHECK(words_of_part("ring_all_reduce", {"--all-reduce", "tree"}) == unused("ring"));
  CHECK(words_of_part("ring_all_reduce", {"--all-reduce", "ring"}) == "called");
  CHECK(words_of_part("ring_all_reduce", {"--all-reduce=ring"}) == "called");
  CHECK(words_of_part("ring_all_reduce", {"--all-reduce=hierarchical"}) == "called");
  CHECK(words_of_part("tree_all_reduce", {"--all-reduce=hierarchical"}) == unused("tree"));
  CHECK(words_of_part("halving_doubling_all_reduce", {"--all-reduce", "halving-doubling"}) ==
        "called");
  CHECK(words_of_part("reduce_scatter", {}) == unused("hierarchical"));
}

TEST_CASE("with work: an option that is given as what it is without counts as not given") {
  CHECK(words_of_part("prefetching_loader", {"--workers", "0"}) == "add --workers to call it");
  CHECK(words_of_part("prefetching_loader", {"--workers", "2"}) == "called");
  CHECK(words_of_part("prefetching_loader", {"--workers", "2", "--workers=0"}) ==
        "add --workers to call it");
  CHECK(words_of_part("scale_learning_rate", {"--lr-scaling", "linear"}) == "called");
  CHECK(words_of_part("scale_learning_rate", {}) == "add --lr-scaling to call it");
}

TEST_CASE("with work: a schedule is called where a pipeline asks for it, the usual one too") {
  const auto unused = [](const std::string& value) {
    return "add --schedule " + value + " to call it";
  };
  CHECK(words_of_part("one_f_one_b_schedule", {"--pp", "2"}) == "called");
  CHECK(words_of_part("one_f_one_b_schedule", {"--ranks", "2"}) == "add --pp to call it");
  CHECK(words_of_part("one_f_one_b_schedule", {"--pp", "2", "--schedule", "gpipe"}) ==
        unused("1f1b"));
  CHECK(words_of_part("gpipe_schedule", {"--pp", "2", "--schedule=gpipe"}) == "called");
  CHECK(words_of_part("gpipe_schedule", {"--pp", "2"}) == unused("gpipe"));
  CHECK(words_of_part("gpipe_schedule", {}) == "add --pp and --schedule gpipe to call it");
  CHECK(words_of_part("split_model", {"--pp", "2", "--schedule", "naive"}) == "called");
  CHECK(words_of_part("split_model", {"--pp", "2"}) == unused("naive"));
  CHECK(words_of_part("partition_layers", {"--pp", "2"}) == "called");
  CHECK(words_of_part("partition_layers", {}) == "add --pp to call it");
  // The plain step would be asked for by an option that a pipeline refuses.
  CHECK(words_of_part("average_gradients", {"--pp", "2"}) == "not called with --pp");
  CHECK(added_for("average_gradients", {"--pp", "2"}) == "");
  CHECK(added_for("average_gradients", {"--async"}) == "");
}

TEST_CASE("with work: of options that a part needs together, those are told that the run lacks") {
  const Words gpt{"--model", "gpt", "--ranks", "2"};
  Words experts = gpt;
  CHECK(words_of_part("top_k_router", gpt) == "add --experts to call it");
  experts.insert(experts.end(), {"--experts", "4"});
  CHECK(words_of_part("top_k_router", experts) == "called");
  experts.insert(experts.end(), {"--router", "experts", "--capacity", "2"});
  CHECK(words_of_part("top_k_router", experts) == "add --router tokens to call it");
}

TEST_CASE("with work: an option that is added for one part may leave another uncalled") {
  const Arguments run = options_of_run({"--ranks", "2"});
  CHECK(why_uncalled(called_by("bucketed_reducer"), run).empty());
  CHECK(why_uncalled(called_by("bucketed_reducer"), run, {"--no-overlap"}) ==
        "not called with --no-overlap");
}

TEST_CASE("with work: a program that is named by a part calls what that part may use") {
  const Course course = read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml");
  CHECK(called_by_parts(course, {"ring_all_reduce"}) == std::set<std::string>{"ring_all_reduce"});
  CHECK(called_by_parts(course, {"tree_all_reduce"}) ==
        std::set<std::string>{"tree_all_reduce", "reduce", "broadcast"});
  CHECK(called_by_parts(course, {"hierarchical_all_reduce"}).contains("reduce_scatter"));
}

namespace {

// Of this test alone, so that no other test's object is the same.
std::string reference_of_test(const Exercise& part, const std::string& rest = "") {
  const std::filesystem::path root = LOCKSTEP_ROOT;
  return text("// ", ::getpid(), "\n", rest, read_text(root / "solutions" / part.file()));
}

}  // namespace

TEST_CASE("with work: parts that the run calls are compiled once, and no others") {
  const WithLessons tree;
  const Course course = read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml");
  for (const char* part : {"ring_all_reduce", "broadcast"}) {
    const Exercise& exercise = exercise_named(course, part);
    write_text(tree.root() / "work" / exercise.file(), reference_of_test(exercise));
  }
  const auto sim = [&](const char* program) {
    const auto run = tree.lab({"sim", "--with", "work", "--ranks", "3", program});
    CAPTURE(run.output);
    CHECK(run.exit_code == 0);
    return run.output;
  };
  const std::string first = sim("ring_all_reduce"), again = sim("ring_all_reduce");
  CHECK_THAT(first, contains("  compiling  ring_all_reduce\n") &&
                        contains("  yours      ring_all_reduce\n") &&
                        contains("  unused     1 part of yours that it does not call\n"));
  CHECK_THAT(again, !contains("compiling"));
  CHECK_THAT(sim("broadcast"), contains("  compiling  broadcast\n"));
}

TEST_CASE("with work: an object is used again until its file or a header of it is another") {
  const Tree tree;
  Lab lab;
  lab.places = {LOCKSTEP_ROOT, std::filesystem::path(LOCKSTEP_TOOL).parent_path().parent_path()};
  lab.course = read_course(lab.places.manifest());
  const Exercise& part = exercise_named(lab.course, "model_memory");
  const std::filesystem::path source = tree.root() / "model_memory.cpp",
                              header = tree.root() / "a header.hpp";
  write_text(source, reference_of_test(part, text("#include ", header, "\n")));
  const auto object = [&] {
    const auto objects = kept_objects(lab, {{&part, source}});
    REQUIRE(objects.size() == 1);
    struct stat file {};
    REQUIRE(::stat(objects.front().c_str(), &file) == 0);
    return std::pair(objects.front().string(), file.st_ino);
  };
  write_text(header, "// one\n");
  const auto first = object();
  CHECK(object() == first);
  write_text(header, "// two\n");
  const auto other_header = object();
  CHECK(other_header.first == first.first);
  CHECK(other_header.second != first.second);
  CHECK(object() == other_header);
  write_text(source, read_text(source) + "// changed\n");
  CHECK(object().first != first.first);
}

TEST_CASE("with work: a student's schedule and stage train a GPT on two processes") {
  const WithLessons tree;
  tree.solve("13_pipeline_parallel/one_f_one_b_schedule.cpp");
  tree.solve("13_pipeline_parallel/run_stage.cpp");
  const auto run = tree.lab(
      {"train",    "--with",     "work",    "--pp",         "2", "--micro-batches", "4",  "--model",
       "gpt",      "--data",     "lessons", "--layers",     "2", "--width",         "32", "--heads",
       "2",        "--sequence", "16",      "--batch-size", "8", "--steps",         "40", "--log",
       "log.jsonl"});
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, contains("  yours      run_stage, one_f_one_b_schedule\n") &&
                             contains(" parts that you have not written\n") &&
                             contains("the bubble"));
  std::vector<double> losses;
  std::istringstream lines(read_text(tree.root() / "log.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("event") == "step") losses.push_back(event.at("loss"));
  }
  REQUIRE(losses.size() == 40);
  CHECK(losses.back() < 0.9 * losses.front());
}

TEST_CASE("with work: a student's save beside the steps is the run's, if the run asks for it") {
  const WithLessons tree;
  tree.solve("17_fault_tolerance/async_checkpoint.cpp");
  const auto run = [&](const Words& more) {
    Words words{"train", "--with",       "work",      "--backend", "sim", "--ranks",
                "2",     "--data",       "synthetic", "--steps",   "6",   "--save-every",
                "2",     "--checkpoint", "saved"};
    words.insert(words.end(), more.begin(), more.end());
    return tree.lab(words);
  };
  const auto beside = run({"--save-async"});
  CAPTURE(beside.output);
  REQUIRE(beside.exit_code == 0);
  CHECK_THAT(beside.output, contains("  yours      async_checkpoint\n") &&
                                contains("a snapshot for --save-async took"));
  CHECK(std::filesystem::exists(tree.root() / "saved/step_000006/index.json"));
  const auto between = run({"--resume", "--steps", "8"});
  CHECK_THAT(between.output,
             contains("add --save-async to call it") && contains("continues at step 6"));
}

TEST_CASE("with work: a compression is called with whatever number stands behind its colon") {
  const auto unused = [](const std::string& value) {
    return "add --compress " + value + " to call it";
  };
  CHECK(words_of_part("top_k_error_feedback", {"--compress", "topk:0.01"}) == "called");
  CHECK(words_of_part("top_k_error_feedback", {"--compress=topk:0.5"}) == "called");
  CHECK(words_of_part("top_k_error_feedback", {"--compress", "randomk:0.01"}) == unused("topk:…"));
  CHECK(words_of_part("top_k_error_feedback", {}) == unused("topk:…"));
  CHECK(words_of_part("quantize_int8", {"--compress", "int8"}) == "called");
  CHECK(words_of_part("quantize_int8", {"--compress", "bf16"}) == unused("int8"));
}

TEST_CASE("with work: parts of the plain way turn overlap off, unless the run is DDP's") {
  for (const char* part : {"average_gradients", "data_parallel_step"}) {
    CHECK(added_for(part, {"--ranks", "2"}) == "--no-overlap");
    CHECK(added_for(part, {"--no-overlap"}).empty());
    CHECK(words_of_part(part, {"--no-overlap"}) == "called");
    for (const std::string ddp :
         {"--bucket-mb=1", "--find-unused", "--accumulate=2", "--compress=fp16"}) {
      CHECK(added_for(part, {ddp}).empty());
      CHECK(words_of_part(part, {ddp}) == "not called with " + ddp.substr(0, ddp.find('=')));
    }
    // The trainer refuses --no-overlap beside what was typed, though it be the default.
    CHECK(added_for(part, {"--accumulate=1"}).empty());
    CHECK(added_for(part, {"--fsdp", "full_shard"}).empty());
    CHECK(words_of_part(part, {"--zero=2"}) == "not called with --zero");
  }
  CHECK(added_for("broadcast_parameters", {}).empty());
  CHECK(words_of_part("broadcast_parameters", {}) == "called");
  CHECK_THAT(words_of_part("split_groups", {}), contains("makes no groups in the group"));
}

TEST_CASE("with work: parts of sharded state turn overlap off where the run has that state") {
  struct Row {
    const char* part;
    Words state;
  };
  for (const auto& [part, state] :
       {Row{"fully_sharded", {"--fsdp", "full_shard"}}, Row{"fully_sharded", {"--zero", "3"}},
        Row{"zero_2_gradients", {"--zero", "2"}},
        Row{"zero_1_optimizer", {"--zero", "1", "--optimizer", "adamw"}},
        Row{"hybrid_shard", {"--fsdp=hybrid_shard", "--shard-ranks=2"}}}) {
    CAPTURE(part);
    CHECK(added_for(part, {}).empty());
    CHECK(added_for(part, state) == "--no-overlap");
    CHECK(words_of_part(part, state) == "called");
    Words ahead = state;
    ahead.emplace_back("--prefetch=2");
    CHECK(added_for(part, ahead).empty());
    CHECK(words_of_part(part, ahead) == "not called with --prefetch");
  }
  CHECK(words_of_part("fully_sharded", {"--zero=2"}) == "add --fsdp full_shard to call it");
  // Its part is Adam's, and skips no step.
  CHECK(words_of_part("zero_1_optimizer", {"--zero=1"}) == "add --optimizer adamw to call it");
  CHECK_THAT(words_of_part("zero_1_optimizer", {"--zero=1", "--optimizer=adam", "--dtype=float16"}),
             contains("--dtype float32 to call it"));
}

TEST_CASE("with work: what is the student's comes first, and what is not written is a number") {
  CHECK(text_of(PartsTold{}) == "  yours      none\n");
  PartsTold parts;
  parts.yours = {"broadcast_parameters", "average_gradients"};
  parts.uncalled = {{"ring_all_reduce", "add --all-reduce ring to call it"}};
  parts.replaced = {{"tree_all_reduce", "your file is judged 'wrong answer'"}};
  parts.unwritten = 1;
  CHECK(text_of(parts) ==
        "  yours      broadcast_parameters, average_gradients\n"
        "  unused     ring_all_reduce: add --all-reduce ring to call it\n"
        "  reference  tree_all_reduce: your file is judged 'wrong answer'\n"
        "  reference  1 part that you have not written\n");
}

TEST_CASE("with work: what a manifest says of the trainer's options are options that it has") {
  const Course course = read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml");
  const Arguments run = options_of_run({});
  for (const Exercise& part : course.exercises) {
    CAPTURE(part.name);
    for (const std::string& setting : part.called_by.options) CHECK_FALSE(run.has(setting));
    for (const std::string& option : part.called_by.not_with) {
      CHECK(run.declared(option.substr(2)));
      CHECK_FALSE(run.has(option));
    }
    if (const std::string& adds = part.called_by.adds; !adds.empty()) CHECK_FALSE(run.has(adds));
  }
}

TEST_CASE("with work: the runs that a manifest shows call the part, and those without it do not") {
  const Course course = read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml");
  const auto read = [](const std::string& line) {
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    return parsed(apps::train_options(), words);
  };
  int shown = 0;
  for (const Exercise& exercise : course.exercises) {
    const CalledBy& how = exercise.called_by;
    INFO(exercise.address());
    for (const std::string& line : {how.train, "--model gpt " + how.compare}) {
      if (line.empty() || line.ends_with("gpt ")) continue;
      CHECK(why_uncalled(how, read(line)).empty());
      ++shown;
    }
    CHECK(how.compare.empty() == how.compare_with.empty());
    CHECK((how.train.empty() || how.unused.empty()));
    // A part that some run calls shows one, unless another run has to come first.
    const bool goes_on =
        std::ranges::all_of(how.options, [](auto& one) { return one == "--resume"; });
    CHECK((goes_on || !how.train.empty()));
  }
  CHECK(shown > 40);
}

TEST_CASE("lab train: the tool and the trainer say the same of one command line") {
  const WithLessons tree;
  for (const Words& words :
       {Words{"--layers", "3"}, Words{"--epochs", "1", "--steps", "2"}, Words{"--stpes", "2"},
        Words{"--with", "solutions"}, Words{"--with", "work", "--break", "no_average"},
        Words{"--break="}, Words{"--break"}, Words{"--json"}, Words{"--ranks", "0", "--with"}}) {
    const auto run = [&](Words argv) {
      argv.insert(argv.end(), words.begin(), words.end());
      const CommandResult result = run_command(argv, tree.root(), lockstep::test::patient);
      CHECK(result.exit_code == 2);
      return result.output.substr(result.output.find(": "));
    };
    INFO(run({LOCKSTEP_TRAIN}));
    CHECK(run({LOCKSTEP_TOOL, "--root", tree.root().string(), "train"}) == run({LOCKSTEP_TRAIN}));
  }
}

TEST_CASE("lab train --break: what was typed is checked together with the mistake's own options") {
  const WithLessons tree;
  const auto said = [&](Words words) {
    words.insert(words.begin(), "train");
    const CommandResult result = tree.lab(words);
    CHECK(result.exit_code == 2);
    return result.output;
  };
  CHECK_THAT(said({"--break", "no_avrage"}), contains("did you mean no_average?"));
  CHECK_THAT(said({"--break", "no_average", "--bucket-mb", "2"}),
             contains("--bucket-mb needs DDP, which --no-overlap turns off"));
  CHECK_THAT(said({"--break", "no_average", "--epochs", "1"}),
             contains("--epochs and --steps both say when to stop"));
  const CommandResult list = tree.lab({"train", "--break", "list"});
  CHECK(list.exit_code == 0);
  CHECK_THAT(list.output, contains("  no_average "));
}

TEST_CASE("train, sim, run: a program itself leaves other parts to ./lab, in one sentence") {
  const Tree tree;
  const auto said = [&](const Words& argv) {
    const CommandResult result = run_command(argv, tree.root(), lockstep::test::patient);
    CHECK(result.exit_code == 2);
    return result.output;
  };
  const std::string takes = " takes other parts, which ./lab links; run ./lab ";
  CHECK(said({LOCKSTEP_TRAIN, "--with", "work"}) ==
        "lab train: --with" + takes + "train --with work\n");
  CHECK(said({LOCKSTEP_TRAIN, "--break=no_average", "--json"}) ==
        "lab train: --break" + takes + "train --break no_average\n");
  CHECK(said({LOCKSTEP_SIM, "--with=work", "ring_all_reduce"}) ==
        "lab sim: --with" + takes + "sim --with work\n");
  CHECK(said({LOCKSTEP_GENERATE, "--with=work"}) ==
        "lab generate: --with" + takes + "generate --with work\n");
  CHECK(said({LOCKSTEP_RUN, "--with=work", "--", "true"}) ==
        "lab run: --with" + takes + "run --with work\n");
}

TEST_CASE("lab run --with work: another program than the engine's is refused") {
  const CommandResult result = Tree().lab({"run", "--with", "work", "--", "true"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output,
             contains("--with work needs a program of the engine") && contains("not 'true'"));
}
