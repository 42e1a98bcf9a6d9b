// The interface between a library of products or collectives and paper's cudart: an operation in a
// stream, which touches device memory and says so. cuBLAS is another shared object than cudart, so
// this goes through a function with C's linkage, and memory through an interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/paper/memory/memory.hpp"

namespace lockstep::paper {

// The memory of the stream's device, as one operation uses it.
class LibraryMemory {
 public:
  virtual ~LibraryMemory() = default;
  // Says that the operation reads or writes these bytes; false where they must not be touched: a
  // finding is added, and the device fails.
  virtual bool touch(Touch touch, std::uint64_t address, std::size_t bytes) = 0;
  // The place of these bytes in this process. For the host's memory, it is the address itself.
  virtual std::byte* at(std::uint64_t address) = 0;
};

using LibraryWork = std::function<void(LibraryMemory&)>;

// An operation that waits for other processes, and lets other streams go on meanwhile. It is
// destroyed when it is over, or when its device has failed.
class LibrarySteps {
 public:
  virtual ~LibrarySteps() = default;
  enum class Step { waits, done, failed };       // failed: and so has the device
  virtual Step step(LibraryMemory& memory) = 0;  // called again and again, once it may begin
  // True if another process waits for it. It is then carried out though nobody waits here.
  virtual bool wanted() const = 0;
  virtual void spoil() = 0;  // the settings let it fail, when it runs
};

enum class Submitted : int { fine = 0, bad_stream = 1, failed = 2 };

}  // namespace lockstep::paper

extern "C" {

// Adds `work` to the queue of `stream`, named `name` in findings. The stream is a cudaStream_t.
lockstep::paper::Submitted paperSubmit(void* stream, const char* name,
                                       lockstep::paper::LibraryWork* work);

// The same of an operation in steps. Takes `steps`, whatever it returns.
lockstep::paper::Submitted paperSubmitSteps(void* stream, const char* name,
                                            lockstep::paper::LibrarySteps* steps);

// The setting `deadline_s`: how long other processes may be waited for.
double paperDeadline();

// Which of this call's `arguments` ("count type") is to be changed, as the setting `edit_as` has
// it; empty: none.
const char* paperEditOf(const char* function, const char* arguments);

void paperFinding(lockstep::paper::Kind kind, const char* sentence);

// A call of the library that its rules forbid: a finding.
void paperBadCall(const char* sentence);

}  // extern "C"
