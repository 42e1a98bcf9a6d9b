// Collectives on a cluster of nodes, whose links within are faster than those between, or are not:
// where the ranks are, and what crosses from node to node. Only the judge knows which rank is on
// which node: it counts the bytes of every link by the ranks that each message joins.
//   k nodes of g ranks, N = k·g; a rank's shard is 1/g of D elements
#pragma once

#include "grader/exam/collective/rules.hpp"

namespace lockstep::grader {

// All numbers of nodes that the ranks can have, in turn: the count decides, so that every number of
// ranks meets each of them with several counts, and where a rank dies, its own number, so that both
// groups lose one. Some nodes number their ranks backwards.
void place_on_nodes(CaseRunner& runner, CollectiveProblem& p);

// "2 nodes of 3, every other one numbered backwards, "
std::string text_of_nodes(const CollectiveProblem& p);

// The place of a rank in the group of its node.
int number_in_node(const Nodes& nodes, int rank);

// Elements that one rank sends between nodes: 2(k-1)/k of its shard, up to the lengths of chunks.
Range between_nodes(const CollectiveProblem& p);

// Fails a case in which a rank sends more between nodes, or less. The makespan is then that of the
// messages: the splits that make the groups are over when the first one begins.
void look_at_links(CaseRunner& runner, Played& played, const CollectiveProblem& p);

}  // namespace lockstep::grader
