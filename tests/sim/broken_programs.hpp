// Programs that are wrong, one mistake each, with the sentence that the simulator must say of them.
// They run over the public interface of a group alone, so the same text goes on every host.
//
// A sentence names lines as {a}, {b}: those on which the program called self.at('a'), self.at('b').
// `error` is the word of the MPI Bugs Initiative for such a mistake [LSQ21], where it has one.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/sim/core/finding.hpp"

namespace lockstep::test {

// Lines that were marked while a program ran, by name.
class MarkedLines {
 public:
  void mark(char name, const comm::Where& where);
  // The sentence with its {a} replaced by "tests/sim/file.cpp:21".
  std::string fill(std::string sentence) const;

 private:
  std::mutex mutex_;  // guards places_: ranks may be threads
  std::map<char, std::string> places_;
};

struct Self {
  comm::ProcessGroup& group;
  Device& device;
  MarkedLines& lines;

  int rank() const { return group.rank(); }
  int right() const { return (group.rank() + 1) % group.size(); }
  int left() const { return (group.rank() + group.size() - 1) % group.size(); }
  Tensor ones(std::int64_t count = 3, DType dtype = DType::float32) const {
    return full({count}, 1, dtype, device);
  }
  // This line is {name}: `self.at('a'), group.send(…);`
  comm::Where at(char name, comm::Where where = comm::Where::current()) const {
    lines.mark(name, where);
    return where;
  }
};

enum class Runs : unsigned char { everywhere, in_processes };  // it would end all of the host

struct BrokenProgram {
  std::string name;
  std::string error;
  int ranks;
  void (*run)(Self& self);
  sim::FindingKind kind;
  std::vector<int> blamed;  // Finding::ranks
  std::string sentence;
  Runs runs = Runs::everywhere;
};

std::vector<BrokenProgram> broken_messages();
std::vector<BrokenProgram> broken_collectives();
std::vector<BrokenProgram> broken_ends();
std::vector<BrokenProgram> broken_programs();  // all of them

// {m} of those that run in processes alone, where marks are out of reach.
comm::Where meeting_line();

}  // namespace lockstep::test
