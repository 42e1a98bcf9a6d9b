// A program that runs beside a test: what it prints can be waited for, keys and signals sent.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::test {

enum class Seen : unsigned char { through_a_pipe, on_a_terminal };

class Running {
 public:
  Running(const std::vector<std::string>& argv, const std::filesystem::path& folder, Seen seen);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Reads until `words` have been printed behind those waited for before, with colours and other
  // escape sequences left out; what was read up to there. Fails the test when the program ends or
  // gets on no further for five minutes.
  std::string wait_for(const std::string& words);
  void type(const std::string& keys) const;
  void resize(int rows, int columns) const;
  void send(int signal) const;
  int exit_code();      // waits; 128 + signal when a signal ended it
  bool echoes() const;  // whether the terminal shows what is typed, as a shell's does

 private:
  bool read_more();

  pid_t child_ = -1;
  int line_ = -1;
  int terminal_ = -1;  // the program's side, held open so that it can be asked
  std::string printed_;
  std::size_t waited_to_ = 0;
};

}  // namespace lockstep::test
