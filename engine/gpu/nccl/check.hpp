// Every call of NCCL is checked, as those of CUDA are: check(ncclGroupEnd(), "ncclGroupEnd").
#pragma once

#include <nccl.h>

#include "engine/base/text.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::gpu {

inline void check(ncclResult_t result, const char* call, ncclComm_t comm = nullptr) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* const more = ncclGetLastError(comm);
  throw GpuError(text("nccl: ", call, " failed with \"", ncclGetErrorString(result), "\"",
                      more == nullptr || *more == 0 ? "" : ": ", more == nullptr ? "" : more));
}

}  // namespace lockstep::gpu
