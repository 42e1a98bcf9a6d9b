// Streams, events and host callbacks.
#include <cuda_runtime_api.h>

#include "engine/paper/cudart/call.hpp"

using namespace lockstep::paper;

namespace {

cudaError_t create_stream(const char* function, cudaStream_t* stream, unsigned flags,
                          int priority) {
  return call(function, [&](Runtime& state) {
    if ((flags & ~unsigned{cudaStreamNonBlocking}) != 0) return cudaErrorInvalidValue;
    *stream = state.add_stream(flags, priority);
    return cudaSuccess;
  });
}

cudaError_t create_event(const char* function, cudaEvent_t* event, unsigned flags) {
  return call(function, [&](Runtime& state) {
    constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
    if ((flags & ~known) != 0) return cudaErrorInvalidValue;  // none between processes
    *event = state.add_event(flags);
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create_stream("cudaStreamCreate", stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create_stream("cudaStreamCreateWithFlags", stream, flags, 0);
}

// Priorities change no order that a program may rely on; they are kept and told.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create_stream("cudaStreamCreateWithPriority", stream, flags, priority);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return call("cudaStreamGetPriority", [&](Runtime& state) {
    *priority = stream == nullptr ? 0 : state.stream(stream).priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return call("cudaStreamGetFlags", [&](Runtime& state) {
    *flags = stream == nullptr ? unsigned{cudaStreamDefault} : state.stream(stream).flags;
    return cudaSuccess;
  });
}

// Queued work still runs.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy", [&](Runtime& state) {
    state.stream(stream).destroyed = true;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", [&](Runtime& state) {
    const Runtime::Queue queue = state.queue(stream);
    if (state.strikes(Runtime::Chance::wait)) return cudaSuccess;
    state.wait_for(state.timeline().now(queue.track));
    return queue.device.failure;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", [&](Runtime& state) {
    const Runtime::Queue queue = state.queue(stream);
    return state.query(state.timeline().now(queue.track)) ? queue.device.failure
                                                          : cudaErrorNotReady;
  });
}

// An event that was never recorded is no wait.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call("cudaStreamWaitEvent", [&](Runtime& state) {
    const Runtime::Queue queue = state.queue(stream);
    const CUevent_st& waited = state.event(event);
    if (!waited.recorded || state.strikes(Runtime::Chance::event_wait)) return cudaSuccess;
    state.timeline().wait(queue.track, waited.clock);
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return call("cudaLaunchHostFunc", [&](Runtime& state) {
    if (function == nullptr) return cudaErrorInvalidValue;
    state.enqueue(state.queue(stream), "host callback", [&state, function, argument](Operation) {
      if (state.finishing()) return;  // what it would touch may be gone
      state.callback_thread = std::this_thread::get_id();
      function(argument);
      state.callback_thread = {};
    });
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create_event("cudaEventCreate", event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return create_event("cudaEventCreateWithFlags", event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy", [&](Runtime& state) {
    CUevent_st& gone = state.event(event);
    gone.destroyed = true;
    gone.clock = {};
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&](Runtime& state) {
    CUevent_st& recorded = state.event(event);
    const Runtime::Queue queue = state.queue(stream);
    if (recorded.device != queue.device.number) {
      state.refuse(cudaErrorInvalidResourceHandle, Kind::bad_call,
                   "the event is of device " + std::to_string(recorded.device) + ", but " +
                       state.timeline().name_of_track(queue.track) + " is of device " +
                       std::to_string(queue.device.number));
    }
    recorded.clock = state.timeline().now(queue.track);
    recorded.recorded = true;
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", [&](Runtime& state) {
    const CUevent_st& waited = state.event(event);
    if (waited.recorded && !state.strikes(Runtime::Chance::wait)) state.wait_for(waited.clock);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&](Runtime& state) {
    const CUevent_st& asked = state.event(event);
    return !asked.recorded || state.query(asked.clock) ? cudaSuccess : cudaErrorNotReady;
  });
}

// Time is not modelled: it is 0 ms between any two events that are complete.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call("cudaEventElapsedTime", [&](Runtime& state) {
    for (const cudaEvent_t event : {start, end}) {
      const CUevent_st& asked = state.event(event);
      if (!asked.recorded || (asked.flags & cudaEventDisableTiming) != 0) {
        state.refuse(cudaErrorInvalidResourceHandle, Kind::bad_call,
                     asked.recorded ? "the event was made with cudaEventDisableTiming"
                                    : "the event was never recorded");
      }
      if (!state.schedule().finished(asked.clock)) return cudaErrorNotReady;
    }
    *milliseconds = 0;
    return cudaSuccess;
  });
}

}  // extern "C"
