// A launch: what CUDA checks at once, and the operation that runs it later.
#pragma once

#include "engine/paper/cudart/runtime.hpp"

namespace lockstep::paper {

// The device is modelled on an A100, whose PTX (compute_80) paper runs.
constexpr int ptx_capability = 80;
constexpr std::size_t shared_bytes_usual = 48 * 1024;   // of a block
constexpr std::size_t shared_bytes_optin = 163 * 1024;  // after cudaFuncSetAttribute
constexpr std::size_t shared_bytes_processor = 164 * 1024;

// Returns what the launch returns; throws Failed. `kernel` may be any pointer.
cudaError_t launch(Runtime& state, CUkern_st* kernel, const LaunchConfiguration& configuration,
                   void** arguments);

// The kernel of a host function or handle. Throws Failed with a finding where paper cannot run it.
CUkern_st& runnable(Runtime& state, const void* host_or_handle);

// The error that CUDA has for what a launch came to.
cudaError_t error_of(Outcome outcome);

}  // namespace lockstep::paper
