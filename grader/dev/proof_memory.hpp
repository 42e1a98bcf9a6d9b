// Which proofs held, so that what no change since can affect is not proved again. A proof of code
// is a function of files: the programs that judge, what a player is made of, the answers. One that
// held is noted in build/<preset>/proofs/ with a digest of the state of all of them, and with its
// kill matrix.
//
// What people write counts by its content; what is built, and what the machine has, by its size and
// the time at which it was written. A clean clone remembers nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/dev/kill_matrix.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct ProofInputs {
  std::vector<std::filesystem::path> written;  // by people: the content counts
  std::vector<std::filesystem::path> made;     // by tools: size and time count
  std::string words;                           // what is no file: the address
};

// The inputs on which the proof of a code exercise depends. Missing files belong to them, too.
ProofInputs inputs_of_proof(const Lab& lab, const Exercise& exercise);

std::string digest_of(const ProofInputs& inputs);

struct RememberedProof {
  std::string sentence;
  ExerciseKills kills;
};

// The proof, when it held with the same digest.
std::optional<RememberedProof> remembered_proof(const Lab& lab, const Exercise& exercise,
                                                const std::string& digest);
void remember_proof(const Lab& lab, const Exercise& exercise, const std::string& digest,
                    const RememberedProof& proof);

}  // namespace lockstep::grader
