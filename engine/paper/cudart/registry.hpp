// Holds what programs register before main(): fat binaries, the kernels and variables in them, and
// the host's handle of each. Registration only notes them. PTX is decoded when a kernel is first
// asked for, so nothing is made before processes fork, and no more than is used.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/paper/cudart/fat_binary.hpp"
#include "engine/paper/ptx/module.hpp"

namespace lockstep::paper {

// One source file's device code. Its address is what __cudaRegisterFatBinary returns.
class Binary {
 public:
  explicit Binary(const void* wrapper) : wrapper_(wrapper) {}
  const ptx::Module& module() { return decoder().module(); }
  const ptx::Kernel* kernel(const std::string& name) { return decoder().kernel(name); }
  const std::string& refusal();  // why there is none; empty where there is

 private:
  ptx::Decoder& decoder();  // made at the first call

  const void* wrapper_;
  std::string edited_;  // what is decoded in the program's place, with PAPER_PTX_EDIT
  std::optional<ptx::Decoder> decoder_;
  std::string refusal_;
};

struct RegisteredVariable {
  Binary* binary = nullptr;
  std::string name;
  std::size_t bytes = 0;
};

}  // namespace lockstep::paper

// A kernel, as the host names it: cudaKernel_t points at one, and it stays where it is.
struct CUkern_st {
  lockstep::paper::Binary* binary = nullptr;
  std::string name;                        // mangled
  std::string short_name;                  // "scale<float>": for findings
  std::size_t dynamic_shared_max = 49152;  // cudaFuncSetAttribute raises it

  const lockstep::paper::ptx::Kernel* kernel() const;  // nullptr: the module has none of that name
};

namespace lockstep::paper {

class Registry {
 public:
  Binary* add_binary(const void* wrapper);
  void add_kernel(Binary* binary, const void* host, const char* name);
  void add_variable(Binary* binary, const void* host, const char* name, std::size_t bytes);

  CUkern_st* kernel(const void* host_or_handle) const;  // nullptr where it is neither
  const RegisteredVariable* variable(const void* host) const;

 private:
  std::vector<std::unique_ptr<Binary>> binaries_;
  std::map<const void*, std::unique_ptr<CUkern_st>> kernels_;  // by the host's function
  std::map<const void*, CUkern_st*> by_handle_;
  std::map<const void*, RegisteredVariable> variables_;  // by the host's shadow
};

// The one of this process. It lives as long as the process: constructors of any library use it
// before main(), and their destructors after.
Registry& registry();

}  // namespace lockstep::paper
