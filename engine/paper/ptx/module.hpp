// A module: what the PTX of one source file says, ready to run. Decoding never throws for PTX that
// it does not know: the kernel that uses it gets a refusal, told by name and line when it is
// launched. A kernel is decoded when it is first asked for: a program launches a few of many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/paper/lanes/instruction.hpp"

namespace lockstep::paper::ptx {

struct Parameter {
  std::string name;
  std::size_t offset = 0, bytes = 0, align = 1;
};

// A __device__ or __constant__ variable. Its home is device memory in both cases.
struct Variable {
  enum class Space { global, constant };
  struct Address {  // eight bytes of the content are the address of a variable
    std::size_t offset = 0;
    std::string variable;
    std::uint64_t addend = 0;
  };
  std::string name;
  Space space = Space::global;
  std::size_t bytes = 0, align = 1;
  std::vector<std::byte> content;  // `bytes` of them; zeros where PTX gives no values
  std::vector<Address> addresses;
};

struct Kernel {
  std::string name;       // mangled
  std::string demangled;  // kernel_name(): "scale<float>"
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t static_shared = 0;  // bytes
  std::size_t local_bytes = 0;    // a thread: arrays that have addresses, and arguments of calls
  std::uint32_t threads_max = 1024;
  std::string refusal;  // not empty: why it cannot run, with the line of the source

  // The code that runs it.
  std::vector<Instruction> code;
  std::size_t file_bytes = 0;  // of a warp's registers
  std::vector<Constant> constants;
  std::vector<std::pair<Special, std::uint32_t>> specials;  // special register and its place
  std::vector<std::string> files;                           // of `Line`
};

struct Module {
  std::map<std::string, Kernel> kernels;  // by mangled name
  std::vector<Variable> variables;
  std::string error;  // not empty: the text is no PTX; there are then no kernels
};

class Decoder {
 public:
  explicit Decoder(std::string_view text);  // which must outlive it
  ~Decoder();

  // Its variables and its error. Kernels are those that were asked for; they stay where they are.
  const Module& module() const { return module_; }
  // nullptr: there is none of that name.
  const Kernel* kernel(const std::string& name);
  std::vector<std::string> names_of_kernels() const;

 private:
  std::unique_ptr<struct Text> text_;
  Module module_;
};

// All of it.
Module decode(std::string_view text);

}  // namespace lockstep::paper::ptx
