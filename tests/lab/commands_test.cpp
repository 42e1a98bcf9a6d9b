// lab-tool as a student meets it, in a tree of its own: exit codes, words, and what it remembers.
#include <nlohmann/json.hpp>

#include "grader/course/quiz/file.hpp"
#include "grader/lab/after_pass.hpp"
#include "grader/lab/overview.hpp"
#include "grader/lab/wrap.hpp"
#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::Tree;
namespace fs = std::filesystem;

TEST_CASE("lab-tool: becomes the program of a command that it does not hold") {
  const Tree tree;
  for (const char* command : {"compare", "debug", "myth", "submit", "trace"}) {
    const auto help = tree.lab({command, "--help"});
    CHECK(help.exit_code == 0);
    CHECK_THAT(help.output, test::contains(std::string("./lab ") + command));
  }
  const auto contributor = tree.lab({"dev", "nothing"});
  CHECK(contributor.exit_code == 2);
  CHECK_THAT(contributor.output, test::contains("'nothing' is not one of them"));
}

TEST_CASE("lab begin: copies every stub once, and list shows nothing as solved") {
  const Tree tree;
  CHECK_THAT(tree.lab({"begin"}).output, test::contains("work/06_all_reduce: "));
  CHECK_THAT(tree.lab({"begin"}).output, test::contains("a file for every exercise"));
  const auto list = tree.lab({"list"});
  CHECK(list.exit_code == 0);
  CHECK_THAT(list.output, test::contains("0 of "));
  CHECK_THAT(list.output, test::contains("next: average_gradients"));
}

TEST_CASE("after a pass: a part that no run calls says why") {
  Exercise part;
  part.called_by.unused = "the trainer does not answer";
  CHECK_THAT(after_pass(Lab{}, part, {}),
             test::contains("  train     not with this part: the trainer does not answer\n"));
  part.called_by.shown_by = "generate --with work";
  CHECK_THAT(after_pass(Lab{}, part, {}),
             test::contains("  try       ./lab generate --with work\n") &&
                 !test::contains("not with this part"));
}

TEST_CASE("lab check: a stub is unsolved, a solution passes, and both are remembered") {
  const Tree tree;
  tree.lab({"begin"});
  const auto stub = tree.lab({"check", "model_memory"});
  CHECK(stub.exit_code == 1);
  CHECK_THAT(stub.output, test::contains("unsolved  0/10 points"));

  tree.solve("01_why_distribute/model_memory.cpp");
  CHECK_THAT(tree.lab({"list"}).output, test::contains("changed since"));
  const auto solved = tree.lab({"check"});
  CHECK(solved.exit_code == 0);
  CHECK_THAT(solved.output, test::contains("pass  10/10 points"));
  const auto list = nlohmann::json::parse(tree.lab({"list", "--json"}).output);
  CHECK(list.at(0).at("solved") == true);
  CHECK(list.at(0).at("points") == 10);
  CHECK_THAT(tree.lab({"list"}).output, test::contains("next: training_time"));
}

TEST_CASE("lab check: after a pass, the command that uses the part, and what is next") {
  const Tree tree;
  tree.lab({"begin"});
  tree.solve("06_all_reduce/ring_all_reduce.cpp");
  const auto solved = tree.lab({"check", "ring_all_reduce"});
  CHECK_THAT(solved.output,
             test::contains("  train     ./lab train --with work --ranks 4 --all-reduce ring\n"));
  CHECK_THAT(solved.output, test::contains("  next      "));
  CHECK_THAT(tree.lab({"check", "ring_all_reduce", "--seed", "7"}).output,
             !test::contains("train --with work"));
}

TEST_CASE("lab next: never proposes an exercise before those that it comes after") {
  const Tree tree;
  tree.lab({"begin"});
  tree.solve("06_all_reduce/naive_all_reduce.cpp");
  // Behind it on the path comes the tree, which is built of broadcast and reduce.
  const auto solved = tree.lab({"check", "naive_all_reduce"});
  CHECK_THAT(solved.output, !test::contains("tree_all_reduce"));
  const auto next = nlohmann::json::parse(tree.lab({"next", "--json"}).output);
  CHECK(next.at("open_before").empty());
}

TEST_CASE("lab hint: a check of another folder's file has a hint, too") {
  const Tree tree;
  tree.lab({"begin"});
  const std::filesystem::path first_try =
      std::filesystem::path(LOCKSTEP_ROOT) / "lessons/00_the_lab/first_try";
  CHECK(tree.lab({"check", "average_gradients", "--from", first_try.string()}).exit_code == 1);
  CHECK_THAT(tree.lab({"hint", "average_gradients"}).output,
             test::contains("The gradient holds the sum over the ranks"));
}

TEST_CASE("lab check: what the engine throws names the line that called it, and the cause") {
  const Tree tree;
  const std::string ring = "work/06_all_reduce/ring_all_reduce.cpp";
  const auto says = [&](const std::string& body) {
    write_text(tree.root() / ring,
               "#include \"engine/collectives/ring_all_reduce.hpp\"\n"
               "namespace lockstep::collectives {\n"
               "void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {\n" +
                   body + "  (void)op;\n}\n}\n");
    return tree.lab({"check", "ring_all_reduce"}).output;
  };
  CHECK_THAT(says("  Tensor mine;\n  data.reduce_(mine, op);\n  (void)peers;\n"),
             test::contains("; thrown from " + ring + ":5; likely cause: a handle is used before"));
  CHECK_THAT(
      says("  peers.send(data, peers.rank());\n"),
      test::contains(ring + ":4") && test::contains("likely cause: where source and destination"));
  CHECK_THAT(says("  std::vector<int> none;\n  data.fill_(none.at(peers.size()));\n"),
             test::contains("; thrown from " + ring + ":5; likely cause: an index of at()"));
}

TEST_CASE("lab check: --json is one document with the documented keys") {
  const Tree tree;
  tree.lab({"begin"});
  const auto one = tree.lab({"check", "--json", "05_data_parallel/quiz"});
  CHECK(one.exit_code == 1);
  const auto document = nlohmann::json::parse(one.output);
  for (const char* key :
       {"exercise", "verdict", "points", "max_points", "cause", "message", "checks", "seconds"}) {
    CHECK(document.contains(key));
  }
  CHECK(document.at("verdict") == "unsolved");
  for (const char* key :
       {"name", "verdict", "message", "expected", "seen", "where", "counters", "replay"}) {
    CHECK(document.at("checks").at(0).contains(key));
  }
  const auto two = tree.lab({"check", "--json", "05_data_parallel/quiz", "distributed_sampler"});
  CHECK(nlohmann::json::parse(two.output).size() == 2);
}

TEST_CASE("lab check: a file that does not compile is told by its own line") {
  const Tree tree;
  write_text(tree.root() / "work/06_all_reduce/ring_all_reduce.cpp", "int x = nothing;\n");
  const auto result = tree.lab({"check", "ring_all_reduce"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, test::contains("compile error"));
  CHECK_THAT(result.output, test::contains("work/06_all_reduce/ring_all_reduce.cpp:1:9"));
  CHECK_THAT(result.output, !test::contains("for the declaration"));

  write_text(tree.root() / "work/06_all_reduce/ring_all_reduce.cpp", "int x = 1;\n");
  CHECK_THAT(tree.lab({"check", "ring_all_reduce"}).output,
             test::contains("does not define lockstep::collectives::ring_all_reduce("));
}

TEST_CASE("lab check: one case alone earns nothing, and one that is not there is refused") {
  const Tree tree;
  tree.solve("04_feeding_the_ranks/distributed_sampler.cpp");
  const auto alone = tree.lab({"check", "distributed_sampler", "--case", "3"});
  CHECK(alone.exit_code == 0);
  CHECK_THAT(alone.output, test::contains("pass  case 3 alone"));
  CHECK_THAT(alone.output,
             test::contains("case 3 passed; no other case was run, and nothing is recorded"));
  CHECK_THAT(alone.output, test::contains("ok  seed + epoch gives one permutation"));
  CHECK_THAT(alone.output, test::contains("[3, 7, 1] (not run)"));
  CHECK_THAT(alone.output, !test::contains("10/10"));
  CHECK_THAT(tree.lab({"list"}).output, test::contains("0 of "));
  const auto none = tree.lab({"check", "distributed_sampler", "--case", "99999"});
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.output, test::contains("there is no case 99999; distributed_sampler has cases 1 "
                                         "to 12"));
  tree.lab({"begin"});
  CHECK(tree.lab({"check", "05_data_parallel/quiz", "--case", "1"}).exit_code == 2);
}

TEST_CASE("lab check: what is not written is told by the file that was judged") {
  const Tree tree;
  tree.lab({"begin"});
  CHECK_THAT(tree.lab({"check", "average_gradients"}).output,
             test::contains("open work/05_data_parallel/average_gradients.cpp and fill in"));
  CHECK_THAT(tree.lab({"check", "average_gradients", "--json", "--from", "exercises"}).output,
             !test::contains("open work"));
  const auto stub = tree.lab({"check", "average_gradients", "--from", "exercises"});
  CHECK(stub.exit_code == 1);
  CHECK_THAT(stub.output, test::contains("exercises/05_data_parallel/average_gradients.cpp"));
  CHECK_THAT(stub.output, !test::contains("open work"));
}

TEST_CASE("lab check: a path names the file that is judged, or is refused") {
  const Tree tree;
  tree.solve("05_data_parallel/average_gradients.cpp");
  const std::string name = "05_data_parallel/average_gradients.cpp";
  const auto other = tree.lab({"check", "exercises/" + name});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.output, test::contains("use --from exercises"));
  CHECK(tree.lab({"check", "/elsewhere/" + name}).exit_code == 2);
  CHECK(tree.lab({"check", "exercises/" + name, "--from", "exercises"}).exit_code == 1);
  for (const std::string& path : {"work/" + name, (tree.root() / "work" / name).string(), name,
                                  std::string("average_gradients.cpp"), "./work/" + name}) {
    CAPTURE(path);
    CHECK(tree.lab({"check", path}).exit_code == 0);
  }
}

TEST_CASE("lab: wrong usage has exit code 2 and one sentence that helps") {
  const Tree tree;
  const auto name = tree.lab({"check", "ring_al_reduce"});
  CHECK(name.exit_code == 2);
  CHECK_THAT(name.output, test::contains("did you mean ring_all_reduce?"));
  CHECK_THAT(tree.lab({"chek"}).output, test::contains("did you mean check?"));
  CHECK_THAT(tree.lab({"comapre"}).output, test::contains("did you mean compare?"));
  CHECK(tree.lab({"check", "--sed", "1"}).exit_code == 2);
  CHECK_THAT(tree.lab({"check", "ring_all_reduce"}).output, test::contains("./lab reset"));
  CHECK(tree.lab({"show", "ring_all_reduce", "--hint", "4"}).exit_code == 2);
  CHECK(tree.lab({"reset"}).exit_code == 2);
  CHECK(tree.lab({"check", "--help"}).exit_code == 0);
}

TEST_CASE("lab show: the task without hints, and each hint by itself") {
  const Tree tree;
  const std::string task = tree.lab({"show", "ring_all_reduce"}).output;
  CHECK_THAT(task, test::contains("17.5"));
  CHECK_THAT(task, test::contains("engine/collectives/ring_all_reduce.hpp"));
  CHECK(task.find("## Hint") == std::string::npos);
  const std::string second = tree.lab({"show", "ring_all_reduce", "--hint", "2"}).output;
  CHECK_THAT(second, test::contains("## Hint 2: the strategy"));
  CHECK(second.find("## Hint 1") == std::string::npos);
  const auto lesson = tree.lab({"show", "05"});
  CHECK(lesson.exit_code == 2);
  CHECK_THAT(lesson.output, test::contains("05 is a lesson; name one of its exercises: ") &&
                                test::contains("average_gradients"));
}

TEST_CASE("lab show and list: only read, and say of a file that is not there how it comes") {
  const Tree tree;
  const std::string comes = "ring_all_reduce.cpp, which ./lab reset ring_all_reduce puts there";
  CHECK(tree.lab({"list"}).exit_code == 0);
  CHECK_THAT(tree.lab({"show", "ring_all_reduce"}).output, test::contains(comes));
  CHECK_FALSE(std::filesystem::exists(tree.root() / "work"));
  CHECK(tree.lab({"reset", "ring_all_reduce"}).exit_code == 0);
  CHECK_THAT(tree.lab({"show", "ring_all_reduce"}).output,
             test::contains("work/06_all_reduce/ring_all_reduce.cpp\n"));
}

TEST_CASE("lab list: has difficulty, what comes before, and every line fits 80 columns") {
  Tree tree;
  tree.lab({"begin"});
  tree.solve("03_collectives/broadcast.cpp");
  tree.lab({"check", "broadcast"});
  const auto list = nlohmann::json::parse(tree.lab({"list", "--json"}).output);
  for (const auto& row : list) {
    if (row.at("exercise") == "tree_all_reduce") {
      CHECK(row.at("after") == nlohmann::json({"broadcast", "reduce"}));
      CHECK(row.at("open_before") == nlohmann::json({"reduce"}));
    }
    CHECK(row.at("difficulty") >= 1);
  }
  Lab lab;
  lab.places.root = tree.root();
  lab.course = read_course(lab.places.manifest());
  lab.columns = 80;
  const auto rows = rows_of(lab, read_progress(lab.places.progress()));
  for (const std::string& line : lines_of(list_text(lab, rows))) CHECK(columns_of(line) <= 80);
}

TEST_CASE("lab next: says why, what is open before it, and what to type") {
  const Tree tree;
  tree.lab({"begin"});
  const auto first = tree.lab({"next"});
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.output,
             test::contains("data_parallel_step, token_weighted_mean and conjugate_operators") &&
                 test::contains("./lab watch average_gradients"));
  tree.solve("03_collectives/broadcast.cpp");
  tree.lab({"check", "broadcast"});
  CHECK_THAT(tree.lab({"next"}).output, test::contains("03_collectives/reduce"));
  write_text(tree.root() / "work/06_all_reduce/tree_all_reduce.cpp", "mine\n");
  const std::string begun = tree.lab({"next"}).output;
  CHECK_THAT(begun, test::contains("before    reduce, not solved yet"));
  CHECK(nlohmann::json::parse(tree.lab({"next", "--json"}).output).at("exercise") ==
        "tree_all_reduce");
}

TEST_CASE("lab: alone it says where one is, in 24 lines") {
  const Tree tree;
  tree.lab({"begin"});
  tree.lab({"check", "average_gradients"});  // as ./lab start does
  CHECK_THAT(tree.lab({"next"}).output,
             test::contains("average_gradients  about") && !test::contains("you have started it"));
  tree.lab({"check", "exchange"});
  const auto overview = tree.lab({"overview"});
  CHECK(overview.exit_code == 0);
  CHECK(lines_of(overview.output).size() <= 24);
  CHECK_THAT(overview.output, test::contains(test::of_all(0)) && test::contains("All-reduce") &&
                                  test::contains("exchange, unsolved, just now") &&
                                  test::contains("next      average_gradients"));
  const auto document = nlohmann::json::parse(tree.lab({"overview", "--json"}).output);
  CHECK(document.at("solved") == 0);
  CHECK(document.at("last").at("exercise") == "03_collectives/exchange");
  CHECK(ago(59) == "just now");
  CHECK(ago(60) == "1 minute ago");
  CHECK(ago(7300) == "2 hours ago");
}

TEST_CASE("lab solution: is shown after a pass, or when asked for, which is noted") {
  const Tree tree;
  tree.lab({"begin"});
  const auto early = tree.lab({"solution", "average_gradients"});
  CHECK(early.exit_code == 1);
  CHECK_THAT(early.output, test::contains("--reveal") && !test::contains("scale_"));
  const auto revealed = tree.lab({"solution", "average_gradients", "--reveal"});
  CHECK(revealed.exit_code == 0);
  CHECK_THAT(revealed.output, test::contains("grad.scale_(share)") && test::contains("Recorded"));
  CHECK_THAT(read_text(tree.root() / "work/.progress"),
             test::contains("revealed\t05_data_parallel/average_gradients"));
  tree.solve("03_collectives/exchange.cpp");
  tree.lab({"check", "exchange"});
  const auto earned = tree.lab({"solution", "exchange"});
  CHECK(earned.exit_code == 0);
  CHECK_THAT(earned.output,
             test::contains("./lab compare exchange") && !test::contains("Recorded"));
}

TEST_CASE("lab list: a stub that a newer course changed is told, and a check settles it") {
  const Tree tree;
  fs::remove(tree.root() / "exercises");
  fs::copy(LOCKSTEP_ROOT "/exercises", tree.root() / "exercises", fs::copy_options::recursive);
  tree.lab({"begin"});
  tree.solve("03_collectives/exchange.cpp");
  tree.lab({"check", "exchange"});
  for (const char* part : {"03_collectives/exchange.cpp", "03_collectives/broadcast.cpp"}) {
    const fs::path stub = tree.root() / "exercises" / part;
    write_text(stub, read_text(stub) + "// newer\n");
  }
  const std::string list = tree.lab({"list"}).output;
  CHECK_THAT(list, test::contains("exchange                     updated") &&
                       test::contains("broadcast                    updated") &&
                       test::contains("reduce                       not judged yet") &&
                       test::contains(test::of_all(0)));
  tree.lab({"check", "exchange"});
  CHECK_THAT(tree.lab({"list"}).output, test::contains(test::of_all(1)));
}

TEST_CASE("lab reset: a fresh stub, the old file beside it, and the second time nothing") {
  const Tree tree;
  tree.solve("05_data_parallel/quiz.toml");
  const fs::path file = tree.root() / "work/05_data_parallel/quiz.toml";
  const fs::path reference = tree.root() / "solutions/05_data_parallel/quiz.toml";
  const auto first = tree.lab({"reset", "05_data_parallel/quiz"});
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.output, test::contains("kept as work/05_data_parallel/quiz.toml.bak\n"));
  CHECK(read_text(file) == quiz_for_students(reference));
  const auto second = tree.lab({"reset", "05_data_parallel/quiz"});
  CHECK(second.exit_code == 0);
  CHECK_THAT(second.output, test::contains("nothing changed"));
  CHECK(read_text(file.string() + ".bak") == answered_quiz(reference));
}

TEST_CASE("lab: a folder in the place of a file is told, and reset moves it aside") {
  const Tree tree;
  tree.lab({"begin"});
  const fs::path file = tree.root() / "work/06_all_reduce/ring_all_reduce.cpp";
  tree.lab({"check", "ring_all_reduce"});
  fs::remove(file);
  fs::create_directory(file);
  const auto list = tree.lab({"list"});
  CHECK(list.exit_code == 0);
  CHECK_THAT(list.output, test::contains("unreadable"));
  const auto check = tree.lab({"check", "ring_all_reduce"});
  CHECK(check.exit_code == 2);
  CHECK_THAT(check.output, test::contains("./lab reset ring_all_reduce"));
  CHECK(tree.lab({"reset", "ring_all_reduce"}).exit_code == 0);
  CHECK(fs::is_directory(file.string() + ".bak"));
  CHECK(fs::is_regular_file(file));
}
