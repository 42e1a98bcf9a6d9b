// ./lab gpu pack: the folder is made, and its script rehearsed on paper, so that neither rots. In
// the place of NVIDIA's tools and PyTorch stand programs of a line or two; what is missing, what
// fails and what is well must each be told as that.
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
namespace fs = std::filesystem;

namespace {

struct Ran {
  int exit_code = -1;
  std::string said;
};

Ran run(const std::string& command) {
  Ran ran;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe)) {
    ran.said += static_cast<char>(byte);
  }
  const int status = pclose(pipe);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return ran;
}

std::string text_in(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The folder, which the test that comes first in CMakeLists.txt has made.
const fs::path pack = PACK_FOLDER;

// A machine with these programs before its own, carried to which the script is run.
class Machine {
 public:
  void program(const std::string& name, const std::string& lines) const {
    fs::create_directories(bin());
    std::ofstream(bin() / name) << "#!/bin/sh\n" << lines << "\n";
    fs::permissions(bin() / name, fs::perms::owner_all);
  }
  Ran rehearse(const std::string& words) const {
    return run("PATH=" + bin().string() + ":/usr/bin:/bin sh " + (pack / "run.sh").string() +
               " --out " + results().string() + " " + words);
  }
  fs::path results() const { return folder_.path() / "results"; }

 private:
  fs::path bin() const { return folder_.path() / "bin"; }
  TemporaryFolder folder_{"gpu-pack"};
};

const std::string runs_the_program = "while [ ! -x \"$1\" ]; do shift; done; \"$@\" >/dev/null";
const std::string no_torch = "exit 1";
// Whatever PyTorch would be asked.
const std::string torch =
    "case $1 in -c) exit 0 ;; esac; echo '{\"steps_per_s\": [3.0, 1.0, 2.0]}'";

// A table as ncu prints it: units below the names, and commas in numbers. The first kernel is as
// paper counts it, the second is not.
std::string profile() {
  std::string names = R"("ID","Kernel Name","smsp__inst_executed.sum",)"
                      R"("smsp__thread_inst_executed_per_inst_executed.ratio")";
  for (const char* operation : {"ld", "st", "red", "atom"}) {
    for (const char* what : {"requests", "sectors"}) {
      names +=
          std::string(",\"l1tex__t_") + what + "_pipe_lsu_mem_global_op_" + operation + ".sum\"";
    }
  }
  for (const char* operation : {"ld", "st"}) {
    names += std::string(",\"smsp__inst_executed_op_shared_") + operation + ".sum\"";
    names +=
        std::string(",\"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_") + operation + ".sum\"";
  }
  const std::string kernel = "void lockstep::gpu::kernels::<unnamed>::";
  return "==PROF== Connected to process 7\n" + names + "\n\"\",\"\",\"inst\"" +
         std::string(13, ',') + "\n" + "\"0\",\"" + kernel +
         "exchange_tiles<unsigned int>(const T1 *, long)\",\"1,000\",\"30\"," +
         "\"1,000\",\"4,000\",\"1,000\",\"4,000\",0,0,0,0,\"500\",\"500\",\"500\",\"500\"\n" +
         "\"1\",\"" + kernel + "softmax_rows<float, (int)256>(T1)\",\"900\",\"32\"," +
         "\"10\",\"320\",\"10\",\"320\",0,0,0,0,\"0\",\"0\",\"0\",\"0\"\n";
}

}  // namespace

TEST_CASE("lab gpu pack: the folder is small, and holds what a bare machine lacks") {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(pack)) bytes += entry.file_size();
  CHECK(bytes < 64U << 20U);
  const Ran listed = run("tar -tzf " + (pack / "programs.tar.gz").string());
  for (const char* file : {"./bin/test_gpu", "./bin/test_nccl", "./bin/bench-train",
                           "./gpu/liblockstep_gpu.so", "./paper/libcudart.so.13",
                           "./lib/libgloo.so", "./no_nccl/libnccl.so.2", "./torch_train.py"}) {
    CHECK_THAT(listed.said, contains(file));
  }
  CHECK_THAT(listed.said, !contains("./lib/libc.so") && !contains("libcudart.so.13.0"));
  CHECK_THAT(text_in(pack / "README.md"), contains("sh run.sh"));
}

TEST_CASE("run.sh: with all tools, every part runs, and the exit code is 0") {
  const Machine machine;
  machine.program("compute-sanitizer", runs_the_program);
  machine.program("ncu", runs_the_program + "; cat " + machine.results().string() + "/../profile");
  machine.program("python3", torch);
  fs::create_directories(machine.results());
  std::ofstream(machine.results().parent_path() / "profile") << profile();
  const Ran ran = machine.rehearse("--paper");
  INFO(ran.said);
  CHECK(ran.exit_code == 0);
  for (const char* step :
       {"tests-test_gpu: All tests passed", "tests-test_gpu_kernels: All tests passed",
        "tests-test_nccl: All tests passed", "nccl-2-ranks", "sanitizer-memcheck",
        "sanitizer-racecheck", "sanitizer-initcheck", "sanitizer-synccheck", "profile-ncu", "train",
        "bench-mlp", "torch-eager-mlp", "torch-compiled-mlp"}) {
    CHECK_THAT(ran.said, contains(std::string("passed   ") + step));
  }
  CHECK_THAT(ran.said, contains("sectors and passes agree within 5 % in 1 of 2 kernels"));
  CHECK_THAT(ran.said, contains("All was run and passed"));
  CHECK_THAT(ran.said, !contains("MISSING") && !contains("FAILED"));
  const std::string speeds = ran.said.substr(ran.said.find("steps per second"));
  CHECK_THAT(speeds, contains("              2         2\n"));  // medians of PyTorch's stand-in
  CHECK_THAT(text_in(machine.results() / "summary.txt"), contains("All was run and passed"));
  CHECK(fs::exists(machine.results() / "machine.txt"));
}

TEST_CASE("run.sh: what is missing is said and not counted as passed, and the exit code is 3") {
  const Machine machine;
  machine.program("python3", no_torch);
  const Ran ran = machine.rehearse("--paper sanitizer profile torch");
  CHECK(ran.exit_code == 3);
  for (const char* what : {"compute-sanitizer", "ncu", "PyTorch"}) {
    CHECK_THAT(ran.said, contains(std::string("MISSING  ") + what + ": "));
  }
  CHECK_THAT(ran.said, contains("but 3 could not be run"));
  CHECK_THAT(ran.said, !contains("passed   "));
}

TEST_CASE("run.sh: without a GPU, nothing is run and nothing is passed") {
  const Machine machine;
  machine.program("nvidia-smi", "echo 'no devices were found'; exit 6");
  machine.program("python3", no_torch);
  const Ran ran = machine.rehearse("");
  CHECK(ran.exit_code == 3);
  CHECK_THAT(ran.said, contains("MISSING  GPU: nvidia-smi finds none"));
  CHECK_THAT(ran.said, contains("MISSING  all of:"));
  CHECK_THAT(ran.said, !contains("passed   "));
}

TEST_CASE("run.sh: what fails is named with its last lines, and the exit code is 1") {
  const Machine machine;
  machine.program("compute-sanitizer",
                  "case $2 in racecheck) echo 'a hazard'; exit 86 ;; esac; " + runs_the_program);
  machine.program("ncu", "echo '==ERROR== ERR_NVGPUCTRPERM'; exit 1");
  const Ran ran = machine.rehearse("--paper sanitizer profile");
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.said, contains("FAILED   sanitizer-racecheck: exit code 86"));
  CHECK_THAT(ran.said, contains("           a hazard"));
  CHECK_THAT(ran.said, contains("passed   sanitizer-memcheck"));
  CHECK_THAT(ran.said, contains("MISSING  ncu's counters: the driver keeps them for root"));
  CHECK_THAT(ran.said, contains("1 failed, 1 missing"));
  CHECK(machine.rehearse("--papre").exit_code == 2);
}

TEST_CASE("run.sh: a command that outlasts --limit is stopped, and has failed") {
  const Machine machine;
  machine.program("compute-sanitizer", "exec sleep 600");
  const Ran ran = machine.rehearse("--paper --limit 1 sanitizer");
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.said, contains("FAILED   sanitizer-synccheck: stopped after 1 s"));
  CHECK_THAT(ran.said, !contains("passed   "));
  CHECK(machine.rehearse("--paper --limit soon sanitizer").exit_code == 2);
}
