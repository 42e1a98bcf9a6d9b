#include "engine/gpu/open_gpu.hpp"

#include <dlfcn.h>

#include "engine/base/text.hpp"
#include "engine/gpu/wires.hpp"

namespace lockstep::gpu {
namespace {

// Two folders above the program, as in a build and in a pack that was carried elsewhere; else where
// the build has put it.
std::filesystem::path near_program(const char* place, const char* built) {
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const auto near = program.parent_path().parent_path() / place;
  return std::filesystem::exists(near, unknown) ? near : built;
}

const std::filesystem::path object_file =
    near_program("gpu/liblockstep_gpu.so", LOCKSTEP_GPU_OBJECT);
const std::filesystem::path paper_folder = near_program("paper", LOCKSTEP_PAPER_FOLDER);

// Opened for as long as the process runs: the device's code lies there.
void* opened(const std::filesystem::path& file, int flags) {
  if (!std::filesystem::exists(file)) {
    throw GpuError(text("the GPU library ", file.string(),
                        " has not been built; ./lab builds it when a command asks for --device "
                        "cuda, or run: ninja -C build/release gpu-library"));
  }
  void* library = dlopen(file.c_str(), flags);
  if (library == nullptr) {
    const char* said = dlerror();
    const std::string why = said == nullptr ? "the loader does not say why" : said;
    // A library that the object needs, by its name alone.
    const std::size_t missing = why.find(": cannot open shared object file");
    if (missing != std::string::npos && why.find('/') > missing) {
      throw GpuError(text("--device cuda needs an NVIDIA GPU, but this machine lacks NVIDIA's ",
                          why.substr(0, missing),
                          ", which its CUDA Toolkit 13 has; leave it out to compute on the CPU, or "
                          "add --paper"));
    }
    throw GpuError(text("the GPU library ", file.string(), " cannot be loaded: ", why));
  }
  return library;
}

template <typename Function>
Function* symbol_of(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw GpuError(text("the GPU library lacks ", name, "; build it again"));
  return reinterpret_cast<Function*>(found);
}

constexpr auto for_all = RTLD_NOW | RTLD_GLOBAL;

// The library that is opened first has the names of NVIDIA's libraries. Paper can be first only in
// a process that has not opened those yet.
void* open_paper() {
  if (!std::filesystem::exists(paper_folder / "libcudart.so.13")) {
    throw GpuError(text("paper has not been built: ", paper_folder.string(),
                        " is empty; run: ninja -C build/release gpu-library"));
  }
  void* const cudart = opened(paper_folder / "libcudart.so.13", for_all);
  opened(paper_folder / "libcublas.so.13", for_all);
  opened(paper_folder / "libnccl.so.2", for_all);
  return cudart;
}

void* cudart_of_process() { return dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD); }

// The process's paper, which LD_LIBRARY_PATH may have brought; nullptr where there is none.
void* paper_of_process() {
  void* const cudart = cudart_of_process();
  return cudart != nullptr && dlsym(cudart, "paperFindings") != nullptr ? cudart : nullptr;
}

// Symbols that LD_LIBRARY_PATH has brought are visible to the object only.
bool opened_paper() { return dlsym(RTLD_DEFAULT, "paperFindings") != nullptr; }

void configure(void* paper, const std::vector<std::string>& settings) {
  auto* const set = symbol_of<int(const char*, const char*)>(paper, "paperConfigure");
  for (const std::string& setting : settings) {
    const auto at = setting.find('=');
    const bool known = at != std::string::npos &&
                       set(setting.substr(0, at).c_str(), setting.substr(at + 1).c_str()) == 0;
    if (!known) throw UsageError(text("paper has no setting '", setting, "'"));
  }
}

std::string told_by_paper(const char* function) {
  void* const paper = paper_of_process();
  if (paper == nullptr) return {};
  const char* told = symbol_of<const char*()>(paper, function)();
  return told == nullptr ? "" : told;
}

// The object, with NVIDIA's libraries below it, or paper's.
void* open_object(const GpuOptions& options) {
  const bool asks = options.hardware == Hardware::paper;
  if (asks ? cudart_of_process() != nullptr && !on_paper() : opened_paper()) {
    throw GpuError(text("this process has opened ", asks ? "NVIDIA's libraries" : "paper",
                        " already, and a process has one or the other"));
  }
  if (asks) configure(open_paper(), options.paper);
  return opened(object_file, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

std::unique_ptr<Device> open_gpu(const GpuOptions& options) {
  auto* const open =
      symbol_of<Device*(const GpuOptions&)>(open_object(options), "lockstep_open_cuda_device");
  return std::unique_ptr<Device>(open(options));
}

int count_gpus(const GpuOptions& options) {
  return symbol_of<int()>(open_object(options), "lockstep_count_cuda_devices")();
}

std::unique_ptr<Wires> open_wires(Device& gpu) {
  void* const object = dlopen(object_file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  Wires* wires = nullptr;
  if (object != nullptr) wires = symbol_of<Wires*(Device&)>(object, "lockstep_open_wires")(gpu);
  if (wires == nullptr) {
    throw GpuError(
        text("the device '", gpu.name(), "' is no GPU of open_gpu's, and NCCL joins only those"));
  }
  return std::unique_ptr<Wires>(wires);
}

bool on_paper() { return paper_of_process() != nullptr; }

std::string paper_findings() { return told_by_paper("paperFindings"); }

std::string paper_lines() { return told_by_paper("paperLines"); }

std::string paper_counters() { return told_by_paper("paperCounters"); }

std::string paper_history() { return told_by_paper("paperHistory"); }

}  // namespace lockstep::gpu
