// The shell in front of the programs: ./lab with programs that only say how they were called.
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/text.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/lab.hpp"
#include "tests/catch.hpp"
#include "tests/lab/shell.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

using lockstep::test::Programs, lockstep::test::Root;

// build.sh's build(), with a ninja that prints `printed`.
std::string said_while_building(const std::string& printed) {
  const Root root;
  root.program("ninja", printed);
  return root.run("build all").output;
}

}  // namespace

TEST_CASE("lab sim: of train it is the training on simulated ranks") {
  const Programs programs;
  CHECK(programs.lab({"sim", "--ranks", "4", "train", "--steps", "2"}).output ==
        "train --backend sim --ranks 8 --ranks 4 --steps 2\n");  // the last one counts
  CHECK(programs.lab({"sim", "train", "--model", "gpt"}).output ==
        "train --backend sim --ranks 8 --model gpt\n");
  CHECK(programs.lab({"sim", "train", "--with", "work"}).output ==
        "lab-tool train --backend sim --ranks 8 --with work\n");
}

TEST_CASE("lab train, sim, run: with other parts than the references, the run is the tool's") {
  const Programs programs;
  for (const Words& run :
       {Words{"train", "--ranks", "2", "--with", "work"},
        Words{"train", "--break=no_average", "--json"}, Words{"train", "--break", "list"},
        Words{"sim", "--ranks", "4", "--with=work", "ring_all_reduce"},
        Words{"run", "--with", "work", "--", "any/bin/smoke", "--with=x"}}) {
    std::string line = "lab-tool";
    for (const std::string& word : run) line += " " + word;
    CHECK(programs.lab(run).output == line + "\n");
  }
}

TEST_CASE("lab train, sim, run: without, the program gets the run as it was typed") {
  const Programs programs;
  CHECK(programs.lab({"train", "--ranks", "2", "--log", "a b"}).output ==
        "train --ranks 2 --log a b\n");
  CHECK(programs.lab({"sim", "ring_all_reduce", "--ranks=4"}).output ==
        "sim ring_all_reduce --ranks=4\n");
  CHECK(programs.lab({"run", "--ranks", "2", "--", "any/bin/smoke", "with work"}).output ==
        "lockstep-run --ranks 2 -- any/bin/smoke with work\n");
}

TEST_CASE("lab train, sim, run --help: is the program's own, also beside other parts") {
  const Programs programs;
  for (const char* program : {"train", "sim"}) {
    const auto help = programs.lab({program, "--with", "work", "--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.output == program + std::string(" --help\n"));
  }
  CHECK(programs.lab({"run", "--help"}).output == "lockstep-run --help\n");
  CHECK(programs.lab({"run", "--", "any/bin/smoke", "--help"}).output ==
        "lockstep-run -- any/bin/smoke --help\n");
}

TEST_CASE("lab run, train, sim --help: a program that is not built yet is built for its help") {
  const Root root;
  const fs::path top = fs::canonical(root.scratch.path());
  fs::copy(LOCKSTEP_ROOT "/lab", top / "lab");
  fs::copy(LOCKSTEP_ROOT "/setup", top / "setup", fs::copy_options::recursive);
  root.program(
      "ninja",
      "mkdir -p \"$2/bin\" && printf '#!/bin/sh\\necho %s \"$@\"\\n' \"$3\" >\"$2/bin/$3\" && "
      "chmod +x \"$2/bin/$3\"");
  const auto lab = [&](const std::string& words) {
    return run_command({"sh", "-c", "PATH=" + top.string() + ":$PATH ./lab " + words}, top,
                       lockstep::test::patient);
  };
  CHECK_THAT(lab("run --help").output, test::contains("usage: ./lab COMMAND") &&
                                           test::contains("./lab start sets the lab up"));
  write_text(top / "build/packages-by-hand", "");
  for (const std::string program : {"run", "train", "sim"}) {
    const auto help = lab(program + " --help 2>/dev/null");
    CHECK(help.exit_code == 0);
    CHECK(help.output == (program == "run" ? "lockstep-run" : program) + " --help\n");
  }
}

TEST_CASE("lab: later commands and those of contributors are programs of their own") {
  const Programs programs;
  for (const char* command : {"check", "watch", "list", "quiz", "predict", "solution"}) {
    CHECK(programs.lab({command, "a b"}).output == text("lab-tool ", command, " a b\n"));
  }
  for (const char* command : {"compare", "debug", "myth", "submit", "trace"}) {
    CHECK(programs.lab({command, "a b"}).output == text("lab-further ", command, " a b\n"));
  }
  CHECK(programs.lab({"bench", "check", "a b"}).output == "lab-further bench-check a b\n");
  CHECK(programs.lab({"dev", "prove", "a b"}).output == "lab-dev dev prove a b\n");
}

TEST_CASE("lab run: a program of the lab is built before it runs, and only such a one") {
  const auto target_of = [](const std::string& words) {
    return run_command({"sh", "-euc",
                        "bin=/lab/build/release/bin; preset=release\n"
                        ". " LOCKSTEP_ROOT "/setup/engine.sh\nown_program " +
                            words},
                       LOCKSTEP_ROOT, lockstep::test::patient)
        .output;
  };
  CHECK(target_of("--ranks 2 -- build/release/bin/smoke a -- b") == "smoke\n");
  CHECK(target_of("-- ./build/release/bin/smoke") == "smoke\n");
  CHECK(target_of("-- /lab/build/release/bin/smoke") == "smoke\n");
  for (const char* words : {"-- smoke", "-- /bin/true build/release/bin/smoke", "--", "", "a"}) {
    CHECK(target_of(words) == "");
  }
}

TEST_CASE(
    "lab train, generate, bench: the GPU's library is built for --device cuda, and only then") {
  const auto asked = [](const std::string& words) {
    return run_command({"sh", "-euc", ". " LOCKSTEP_ROOT "/setup/engine.sh\ngpu_library " + words},
                       LOCKSTEP_ROOT, lockstep::test::patient)
        .output;
  };
  CHECK(asked("--model gpt --device cuda --paper") == "gpu-library\n");
  CHECK(asked("--device=cuda") == "gpu-library\n");
  for (const char* words : {"", "--device cpu", "--log cuda", "--device=cpu --ranks 2"}) {
    CHECK(asked(words).empty());
  }
}

TEST_CASE("lab: a mistyped command is guessed when it resembles one, and only then") {
  const Programs programs;
  const auto near = programs.lab({"chekc"});
  CHECK(near.exit_code == 2);
  CHECK_THAT(near.output, test::contains("'chekc'; did you mean ./lab check? (./lab help"));
  CHECK_THAT(programs.lab({"xyzzy"}).output, test::contains("'xyzzy' (./lab help lists all)"));
  CHECK_THAT(programs.lab({"status"}).output, test::contains("./lab without a command shows"));
}

TEST_CASE("lab doctor: says in JSON what is there, and a sandbox that is refused is told why") {
  const Programs programs;
  const auto document = nlohmann::json::parse(programs.lab({"doctor", "--json"}).output);
  std::string names;
  for (const auto& check : document.at("checks")) {
    names += check.at("name").get<std::string>() + " ";
    CHECK((check.at("state") == "there" || check.at("state") == "off" ||
           check.at("state") == "missing"));
  }
  for (const char* name : {"disk ", "shm ", "clock ", "limits ", "inotify ", "sandbox ", "gdb "}) {
    CHECK_THAT(names, test::contains(name));
  }
  programs.program("bwrap", "echo 'no permission to make a namespace' >&2; exit 1");
  const auto refused =
      run_command({"env", "PATH=" + (programs.folder() / "bin").string() + ":/usr/bin:/bin",
                   LOCKSTEP_ROOT "/lab", "doctor"},
                  programs.folder(), lockstep::test::patient);
  CHECK_THAT(refused.output, test::contains("bubblewrap is installed, but this system refuses"));
}

TEST_CASE("lab doctor: names the CUDA toolkit and the driver, or what is wrong with them") {
  const Programs programs;
  const auto said = [&] {
    const std::string here = programs.folder().string();
    return run_command({"env", "PATH=" + here + "/bin:/usr/bin:/bin", "CUDA_HOME=", "CUDA_PATH=",
                        "CUDA_DEFAULT=" + here + "/other", LOCKSTEP_ROOT "/lab", "doctor"},
                       programs.folder(), lockstep::test::patient)
        .output;
  };
  CHECK_THAT(said(), test::contains("no CUDA toolkit: neither --device cuda nor --paper"));
  CHECK_THAT(said(), test::contains("no NVIDIA driver: --device cuda works on paper only"));
  programs.program("nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.131'");
  CHECK_THAT(said(), test::contains("is of CUDA 12.4, and the GPU's kernels need CUDA 13"));
  programs.program("../other/bin/nvcc", "echo 'release 13.0, V13.0.88'");
  CHECK_THAT(said(), test::contains("other/bin/nvcc is there, but not the headers"));
  fs::remove_all(programs.folder() / "other");
  programs.program("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'");
  CHECK_THAT(said(), test::contains("but not the headers of the runtime"));
  write_text(programs.folder() / "include/cuda_runtime_api.h", "");
  CHECK_THAT(said(), test::contains("CUDA 13.0 in " + programs.folder().string()));
  CHECK_THAT(said(), test::contains("no nccl.h beside CUDA: --backend nccl works on paper only"));
  write_text(programs.folder() / "include/nccl.h", "");
  CHECK_THAT(said(), test::contains("several ranks on GPUs: --backend nccl --paper works"));
  programs.program("nvidia-smi", "echo 'NVIDIA H100, 535.104.05'");
  CHECK_THAT(said(), test::contains("NVIDIA H100, but its driver 535.104.05 does not know"));
  programs.program("nvidia-smi", "echo 'NVIDIA H100, 580.65.06'");
  CHECK_THAT(said(), test::contains("NVIDIA H100, driver 580.65.06"));
}

TEST_CASE("lab gpu: explain gets its words, and what is mistyped gets one sentence") {
  const Programs programs;
  programs.program("gpu-explain", "echo gpu-explain \"$@\"");
  CHECK(programs.lab({"gpu", "explain", "attend", "--json"}).output ==
        "gpu-explain attend --json\n");
  for (const char* command : {"explain", "pack"}) {
    CHECK_THAT(programs.lab({"gpu"}).output, test::contains(std::string("./lab gpu ") + command));
  }
  CHECK(programs.lab({"gpu", "expalin"}).exit_code == 2);
  CHECK(programs.lab({"gpu", "pack", "--out"}).exit_code == 2);
  CHECK(programs.lab({"gpu", "pack", "--to", "x"}).exit_code == 2);
  CHECK(programs.lab({"gpu", "pack"}).exit_code == 3);  // nothing is built there
}

// setup.sh with a pip that is a script. What it fetches is a script, too.
TEST_CASE("lab setup --gpu: fetches what has its digest, or changes nothing and says why") {
  const Root root;
  root.program("nvcc", "echo 'release 12.4, V12.4.131'");
  write_text(root.scratch.path() / "setup/cuda.txt", read_text(LOCKSTEP_ROOT "/setup/cuda.txt"));
  const auto setup = [&](const std::string& words) {
    return root.run(
        "ensure_packages() { :; }\nCUDA_HOME=\nCUDA_PATH=\nCUDA_DEFAULT=/nowhere\n"
        ". " LOCKSTEP_ROOT "/setup/setup.sh\nlab_setup " +
        words);
  };
  const std::string pip =
      "echo \"$*\" >>pip; case $* in *--version) exit 0 ;; esac\n"
      "while [ \"$1\" != --target ]; do shift; done\n"
      "mkdir -p \"$2/nvidia/cu13/bin\"; cp nvcc \"$2/nvidia/cu13/bin\"\n";
  root.program("python3", pip + "echo 'THESE PACKAGES DO NOT MATCH THE HASHES'; exit 1");
  const auto refused = setup("--gpu");
  CHECK(refused.exit_code == 3);
  CHECK_THAT(refused.output, test::contains("THESE PACKAGES DO NOT MATCH THE HASHES"));
  CHECK_THAT(refused.output, test::contains("Nothing was changed"));
  CHECK_FALSE(fs::exists(root.scratch.path() / "build/cuda"));
  CHECK_FALSE(fs::exists(root.scratch.path() / "build/cuda.fresh"));
  root.program("python3", pip);
  const auto fetched = setup("--gpu");
  CHECK(fetched.exit_code == 0);
  CHECK_THAT(fetched.output, test::contains("./lab train --device cuda --paper"));
  CHECK(fs::exists(root.scratch.path() / "build/cuda/nvidia/cu13/bin/nvcc"));
  CHECK(root.asked() == "--fresh --preset release\n");
  const std::string asked = read_text(root.scratch.path() / "pip");
  CHECK_THAT(asked, test::contains("--no-deps --require-hashes"));
  CHECK_THAT(asked, test::contains("setup/cuda.txt"));
  root.program("nvcc", "echo 'release 13.0, V13.0.88'");
  CHECK_THAT(setup("--gpu").output, test::contains("There is nothing to fetch"));
  CHECK(setup("").exit_code == 2);
  CHECK(setup("--cuda").exit_code == 2);
}

TEST_CASE("lab setup: every package of the list has a version and a digest, and start has none") {
  std::istringstream lines(read_text(LOCKSTEP_ROOT "/setup/cuda.txt"));
  int packages = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    ++packages;
    CHECK_THAT(line, test::contains("==13.") && test::contains(" --hash=sha256:"));
    CHECK(line.size() - line.rfind(':') == 65);
  }
  CHECK(packages == 5);
  for (const char* file : {"start", "build", "packages", "engine"}) {
    const std::string script = read_text(std::string(LOCKSTEP_ROOT "/setup/") + file + ".sh");
    CHECK_THAT(script, !test::contains("setup.sh") && !test::contains("cuda.txt"));
  }
}

TEST_CASE("lab help: lists every command that the script knows") {
  const std::string script = read_text(LOCKSTEP_ROOT "/lab");
  const std::string start = "\ncommands=\"";
  const auto at = script.find(start) + start.size();
  std::istringstream commands(script.substr(at, script.find('"', at) - at));
  const std::string help = Programs().lab({"help"}).output;
  int listed = 0;
  for (std::string command; commands >> command; ++listed) {
    if (command != "help") CHECK_THAT(help, test::contains("\n  " + command + " "));
  }
  CHECK(listed > 20);
}

TEST_CASE("lab help: lists every exit code") {
  const std::string help = Programs().lab({"help"}).output;
  for (const char* code : {"  0  ", "  1  ", "  2  ", "  3  ", "  4  "}) {
    CHECK_THAT(help, test::contains(code));
  }
  CHECK_THAT(help, !test::contains("./lab alone"));  // which would be a command
}

TEST_CASE(
    "a build without a terminal: says that it builds, each quarter of a long one, and nothing when "
    "nothing is stale") {
  CHECK(said_while_building("echo '[1/2] one'; echo '[2/2] two'") == "building…\n");
  CHECK(said_while_building("echo '[0/2] Re-checking globbed directories...'") == "");
  CHECK(said_while_building("echo 'ninja: no work to do.'") == "");
  CHECK(said_while_building("echo '[1/2] Re-running CMake...'; for i in $(seq 1 80); do echo "
                            "\"[$i/80] step\"; done") ==
        "building: 80 steps…\nbuilding: 20 of 80 steps\nbuilding: 40 of 80 steps\n"
        "building: 60 of 80 steps\n");
}

TEST_CASE(
    "a build folder that is only partly configured or another one's is configured again, with one "
    "sentence") {
  const Root root;
  const std::string anew = "--fresh --preset release\n";
  const auto configured_anew = [&](const std::string& spoiled_by, const std::string& sentence) {
    CAPTURE(spoiled_by);
    root.run(spoiled_by);
    write_text(root.folder() / "bin/train", "built");
    CHECK(root.run("ready").output == sentence + "configuring…\n");
    CHECK(root.asked() == anew);
    CHECK(root.run("ready; ready").output == "");  // and then it is known to be whole
    CHECK(root.asked() == "");
    CHECK(fs::exists(root.folder() / "bin/train"));
  };
  const auto because = [](const std::string& why) {
    return "build/release " + why + ", so it is configured again\n";
  };
  configured_anew(":", "");
  configured_anew("rm build/release/CMakeCache.txt", because("is only partly configured"));
  configured_anew("rm build/release/build.ninja", because("is only partly configured"));
  configured_anew(
      "rm build/release/build.ninja build/release/CMakeCache.txt; mkdir build/release/CMakeFiles",
      because("is only partly configured"));
  // The remembered look is older than the cache, to the second.
  const std::string later = "touch -d '+10 seconds' build/release/CMakeCache.txt";
  configured_anew(Root::cache_of("/somewhere/else", "Ninja") + later,
                  because("was configured for another folder"));
  root.run("touch build/release/CMakeCache.txt");
  configured_anew(Root::cache_of("$PWD", "Unix Makefiles") + later,
                  because("was configured for a generator other than Ninja"));
}

TEST_CASE("a clone that was moved is configured again, though its build folder is complete") {
  const Root root;
  root.run("ready");
  root.asked();
  CHECK_THAT(root.run("mkdir moved; mv build moved; root=$root/moved; cd moved; ready").output,
             test::contains("was configured for another folder, so it is configured again"));
}

TEST_CASE("a cmake that was killed leaves a folder that the next command configures anew") {
  const Root root;
  root.run("ready");
  root.program("cmake", Root::cache_of("$PWD", "Ninja") + "kill -9 $$");
  const auto killed = root.run("rm build/release/CMakeCache.txt; ready");
  CHECK(killed.exit_code == 4);
  CHECK_THAT(killed.output,
             test::contains("lab: configuring was stopped by signal 9; run the same command "
                            "to continue\n"));
  CHECK_THAT(root.run("ready").output,
             test::contains("is only partly configured, so it is configured again"));
}

TEST_CASE("a build that fails says why: killed, a full disk, no memory, or the lab's own code") {
  const Root root;
  const auto failed = [&](const std::string& ninja, int code, const std::string& sentence) {
    root.program("ninja", ninja);
    const auto result = root.run("build all");
    CAPTURE(result.output);
    CHECK(result.exit_code == code);
    CHECK_THAT(result.output, test::contains(sentence));
  };
  failed("kill -9 $$", 4,
         "lab: building was stopped by signal 9; run the same command to continue\n");
  failed("echo 'x.cpp: No space left on device'; exit 1", 3,
         "lab: building failed because the disk that holds " +
             fs::canonical(root.scratch.path()).string() + " is full. Free some space");
  failed("echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1", 3,
         "lab: building failed because memory ran out");
  failed("echo '[1/2] a'; echo 'x.cpp:1: error'; exit 1", 4,
         "x.cpp:1: error\nlab: building failed. The fault is in the lab's own code, not in yours");
  // A log that cannot be written is no failure.
  fs::remove(root.folder() / "build.log");
  fs::create_symlink("/dev/full", root.folder() / "build.log");
  failed("echo 'one'; exit 0", 0, "");
}
