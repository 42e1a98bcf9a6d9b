#include "engine/gpu/explain/ptxas_report.hpp"

#include <cuda_occupancy.h>

#include <fstream>
#include <regex>

#include "engine/base/error.hpp"
#include "engine/base/text.hpp"

namespace lockstep::gpu {
namespace {

void read_report(const std::filesystem::path& file, std::vector<BuiltKernel>& into) {
  static const std::regex compiling("Compiling entry function '([^']+)' for '([^']+)'");
  static const std::regex spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  static const std::regex used("Used ([0-9]+) registers"), shared(" ([0-9]+) bytes smem");
  std::ifstream report(file);
  std::smatch found;
  const std::size_t before = into.size();
  for (std::string line; std::getline(report, line);) {
    if (std::regex_search(line, found, compiling)) {
      into.push_back({.symbol = found[1], .processor = found[2]});
    } else if (into.size() > before && std::regex_search(line, found, spills)) {
      into.back().spilled_bytes = std::stoi(found[1]) + std::stoi(found[2]);
    } else if (into.size() > before && std::regex_search(line, found, used)) {
      into.back().registers = std::stoi(found[1]);
      if (std::regex_search(line, found, shared)) into.back().shared_bytes = std::stoi(found[1]);
    }
  }
}

std::string limit_of(unsigned factors) {
  if ((factors & OCC_LIMIT_REGISTERS) != 0) return "registers";
  if ((factors & OCC_LIMIT_SHARED_MEMORY) != 0) return "shared memory";
  if ((factors & OCC_LIMIT_WARPS) != 0) return "warps";
  if ((factors & OCC_LIMIT_BLOCKS) != 0) return "blocks";
  return "barriers";
}

}  // namespace

std::vector<BuiltKernel> read_ptxas_reports(const std::filesystem::path& folder) {
  std::vector<BuiltKernel> all;
  if (!std::filesystem::is_directory(folder)) return all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".ptxas") read_report(entry.path(), all);
  }
  return all;
}

Resident resident(const BuiltKernel& kernel, int threads, std::size_t dynamic_shared) {
  const bool is_90 = kernel.processor == "sm_90";
  cudaOccDeviceProp processor;
  processor.computeMajor = is_90 ? 9 : 8;
  processor.maxThreadsPerBlock = 1024;
  processor.maxThreadsPerMultiprocessor = 2048;
  processor.regsPerBlock = processor.regsPerMultiprocessor = 65'536;
  processor.warpSize = 32;
  processor.sharedMemPerBlock = 48 * 1024;
  processor.sharedMemPerMultiprocessor = (is_90 ? 228 : 164) * 1024;
  processor.sharedMemPerBlockOptin = (is_90 ? 227 : 163) * 1024;
  processor.reservedSharedMemPerBlock = 1024;
  processor.numSms = 1;
  cudaOccFuncAttributes built;
  built.maxThreadsPerBlock = 1024;
  built.numRegs = kernel.registers;
  built.sharedSizeBytes = static_cast<std::size_t>(kernel.shared_bytes);
  built.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  built.maxDynamicSharedSizeBytes = dynamic_shared;
  built.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &processor, &built, &state, threads,
                                              dynamic_shared) != CUDA_OCC_SUCCESS) {
    throw Error(text("no occupancy for ", kernel.symbol, " with ", threads, " threads a block"));
  }
  return {result.activeBlocksPerMultiprocessor,
          result.activeBlocksPerMultiprocessor * ((threads + 31) / 32),
          limit_of(result.limitingFactors)};
}

}  // namespace lockstep::gpu
