// Plays ulysses_attention on a tape, with this rank's tokens of queries, keys and values.
#include "engine/parallel/sequence/ulysses_attention.hpp"

#include "grader/play/layer_play.hpp"

namespace lockstep::grader {

// The options of the layer are the number of heads, and the length of a sample.
Bytes play(sim::PlayerCase& played) {
  return play_layer(
      played, [](comm::ProcessGroup& group, std::deque<Parameter>&, const LayerCase& c) {
        const std::int64_t heads = c.options.at(0), length = c.options.at(1);
        return [&group, heads, length](Tape& tape, const Value& qkv) {
          return sequence_parallel::ulysses_attention(tape, group, qkv, heads, length);
        };
      });
}

}  // namespace lockstep::grader
