// The frame around the few lines of each function of the API.
#pragma once

#include <string_view>
#include <utility>

#include "engine/paper/cudart/runtime.hpp"

namespace lockstep::paper {

constexpr int cuda_version = 13000;  // of the runtime; a driver may not know it

// `device`: the function needs the device to be in order. Most do, and return its sticky error.
enum class Needs { device, nothing };

// The error of a call that the settings let fail.
inline cudaError_t injected_error(std::string_view function) {
  if (function.starts_with("cudaMalloc") || function == "cudaHostAlloc") {
    return cudaErrorMemoryAllocation;
  }
  return function == "a launch" || function == "cudaLaunchKernel" ? cudaErrorLaunchOutOfResources
                                                                  : cudaErrorUnknown;
}

// True if the settings may let the function fail. Functions that give something back do not fail:
// no program could mend that.
inline bool may_fail(std::string_view function) {
  return !function.starts_with("cudaFree") && !function.ends_with("Destroy");
}

// Runs body(runtime) under the lock. What it throws as Failed is the result, and is remembered for
// cudaGetLastError. `function` is how findings name the call.
template <typename Body>
cudaError_t call(const char* function, Body&& body, Needs needs = Needs::device) {
  Runtime* const state = runtime();
  if (state == nullptr) return cudaErrorInitializationError;
  if (state->callback_thread == std::this_thread::get_id()) {
    state->findings().add(Kind::bad_call, Where{},
                          std::string(function) +
                              ": called by a host callback, which CUDA forbids; "
                              "let the callback wake a thread that makes the call");
    return cudaErrorNotPermitted;
  }
  const std::scoped_lock lock(state->mutex());
  state->function = function;
  cudaError_t error = cudaSuccess;
  try {
    if (state->settings().driver < cuda_version) throw Failed{cudaErrorInsufficientDriver};
    if (needs == Needs::device) {
      if (state->current().failure != cudaSuccess) throw Failed{state->current().failure};
      if (may_fail(function) && state->strikes(Runtime::Chance::call))
        throw Failed{injected_error(function)};
    }
    error = std::forward<Body>(body)(*state);
    // The first call that sees an earlier failure reports it.
    if (error == cudaSuccess && needs == Needs::device) error = state->current().failure;
  } catch (const Failed& failed) {
    error = failed.error;
  }
  if (error != cudaSuccess) state->thread().last = error;
  return error;
}

}  // namespace lockstep::paper
