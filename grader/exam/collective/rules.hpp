// The assertions about every collective over messages: each buffer of each rank holds what it must
// after each call, and the wire saw what the closed forms say. An exam adds its oracle (Scene) and
// its closed forms (Price).
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "grader/exam/collective/reduction_rules.hpp"
#include "grader/exam/function/contrast.hpp"
#include "grader/exam/ranks/lost_peer_rules.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/causes.hpp"
#include "grader/play/collective_case.hpp"

namespace lockstep::grader {

// Two levels: nodes of equally many ranks, and links between them that are slower, or are not.
struct Nodes {
  int ranks_each = 1;
  sim::Network network{};
  bool turned = false;  // every other node numbers its ranks backwards
};

struct CollectiveProblem {
  Members members;
  std::int64_t count = 0;
  DType dtype = DType::int64;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  int calls = 2;
  std::uint64_t schedule_seed = 0;
  std::optional<std::uint64_t> salt{};             // of the inputs; drawn where there is none
  std::vector<std::vector<std::int64_t>> sends{};  // all_to_all: [from][to]
  std::optional<Nodes> nodes{};                    // of the whole world, in a part with two groups
  // Added to each integer, so that it needs more bits than a floating-point type has: what
  // large_offset says, or nothing. Not for products.
  std::int64_t offset = 0;
  Elements elements = Elements::given;  // none: counts and costs alone, for any count
  std::optional<Death> death{};         // of a rank of the whole world, in its first call
  sim::Network network{};               // where there are no nodes
  Players players = Players::kept;
  Values values = Values::usual;
  // Those that only the check that makes the problem knows of (situations_of finds the others).
  std::vector<Situation> situations{};

  Reduction reduction() const { return {dtype, op, size(), count, values}; }
  int size() const { return members.size(); }
  std::size_t ranks() const { return static_cast<std::size_t>(members.size()); }
  // Elements [first, first + length) of `count` are block `index` of size(); they differ by ≤ 1.
  std::int64_t block_begin(int index) const { return index * count / size(); }
  std::int64_t block_length(int index) const { return block_begin(index + 1) - block_begin(index); }
};

enum class Bits : unsigned char { any, alike };

// One buffer of one rank in one call.
struct Holding {
  std::string name;                 // as the contract calls it
  std::int64_t count = 0;           // elements
  std::vector<double> before;       // empty: nothing is in it
  std::vector<double> after;        // what must be in it; empty: anything
  std::vector<double> tolerance{};  // empty: exact
  std::int64_t sums_from = 0;       // its first element among those that were reduced
  Bits bits = Bits::any;            // alike: the same on every rank, not only to the tolerance
  bool reduced() const { return !tolerance.empty(); }
  // True if the part may not write to it at all: a call that throws leaves it as it was, too.
  bool constant() const { return name != "data" && !before.empty() && before == after; }
};
// Gives what usual mistakes in an algorithm leave in the first buffer of a rank. It is asked for
// integers that are summed, when something is wrong.
using LeftByMistakes = std::vector<Mistake<std::vector<double>>> (*)(const Sums&, int rank);
struct Scene {
  std::vector<std::vector<Holding>> ranks;  // [group rank][buffer]
  std::optional<Sums> sums{};               // of a reduction: who is in a wrong sum
  LeftByMistakes mistakes = nullptr;
};
using Oracle = std::function<Scene(const CollectiveProblem&, std::uint64_t salt, int call)>;

// The offset that makes integers of a dtype large, and odd: int64 that a double cannot hold, int32
// that a float cannot, uint8 whose sum over two ranks int8 cannot. Sums over five ranks stay in
// range.
std::int64_t large_offset(DType dtype);

// " beyond 2^53": what the offset of a problem makes of its dtype. Empty without one.
std::string beyond(const CollectiveProblem& p);

// Elements that rank `rank` brings in one call: values that no other rank, call or place has, as
// far as the dtype has so many.
std::vector<double> distinct(const CollectiveProblem& p, std::uint64_t salt, int call, int rank,
                             std::int64_t count);

// Plays a problem and compares every buffer of every rank. The result of the case, for its cost.
// Where a rank dies, those that were told so must have thrown CommError, and the others must hold
// what they should.
//   bytes_peak  if given, the most that a rank's part had of tensors, beside the buffers
std::optional<Played> play_collective(CaseRunner& runner, const CollectiveProblem& p,
                                      const std::string& what, const Oracle& oracle,
                                      std::int64_t* bytes_peak = nullptr);

// Lists the situations into which a problem, and what its ranks hold, put a part.
std::vector<Situation> situations_of(const CollectiveProblem& p, const std::vector<Scene>& calls);

// The requests that the rank makes that is to die, in a run in which it does not.
std::int64_t requests_of(CaseRunner& runner, const CollectiveProblem& p, const Oracle& oracle);

// A problem with less of one thing: ranks, calls, elements, or what is not the plainest of it. In a
// fixed order, the bold ones first.
std::vector<CollectiveProblem> smaller_problems(const CollectiveProblem& p);

// Cases to hold beside one that failed with a cause that says little.
std::vector<Contrast<CollectiveProblem>> contrasts_of(const Failure& found,
                                                      const CollectiveProblem& p);

struct Range {
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
};

// The cost that one call may have, in elements and messages.
struct Price {
  std::string shape;                               // "a binomial tree", as a sentence names it
  std::vector<Range> sent, received;               // elements, by rank; empty: not asked
  std::optional<std::int64_t> total;               // elements, of all ranks together
  std::optional<std::int64_t> messages;            // of all ranks together
  int depth = std::numeric_limits<int>::max();     // longest chain of messages
  int sends = std::numeric_limits<int>::max();     // messages that one rank sends
  int receives = std::numeric_limits<int>::max();  // messages that one rank receives
  int reach = std::numeric_limits<int>::max();     // how far round the ring a message may go
  double seconds = std::numeric_limits<double>::infinity();  // virtual time of the call
  std::optional<std::int64_t> room;  // elements of tensors that a rank has beside its buffers
  // Likely causes of too much; why_uneven: of a rank's some elements more or less where all ranks
  // together send what they should, which is a matter of efficiency.
  std::string why_bytes, why_messages, why_depth, why_fan, why_time, why_uneven, why_room;
  // The same, where the messages that were sent tell which of several causes it is.
  std::function<std::string(const Played&)> bytes_cause{}, depth_cause{}, time_cause{};
};

// Requires a problem of the whole world with one call.
//   bytes_peak  as play_collective gives it
void check_price(CaseRunner& runner, const Played& played, const CollectiveProblem& p,
                 const Price& price, std::int64_t bytes_peak = 0);

// Why a tree was slow: no rank has as many partners as levels, or, as `otherwise` says, it served
// them in another order.
std::function<std::string(const Played&)> time_of_tree(int levels, std::string otherwise);

// Virtual seconds of one message of `count` elements on the network of the cases.
double message_seconds(const CollectiveProblem& p, std::int64_t count);

// ⌈log₂ n⌉
int tree_depth(int n);

// Five ranks of a world of eight, in another order than the world's.
Members split_members();

enum class Roots : unsigned char { none, all };
enum class Reduces : unsigned char { no, yes };

// two: a group for each level of a cluster (CollectiveProblem::nodes).
enum class Groups : unsigned char { one, two };

struct CollectiveContract {
  std::string values, cost;  // the two main checks, as sentences
  Roots roots = Roots::none;
  Reduces reduces = Reduces::no;
  Groups groups = Groups::one;
  Oracle oracle;
  // Elements of the buffers of one rank, as the oracle has them, without any values.
  std::function<std::vector<std::int64_t>(const CollectiveProblem&, int rank)> counts;
  std::function<Price(const CollectiveProblem&)> price;
  // The count of the one large case, on 3 ranks; less where it is the length of one block.
  std::int64_t large = (1 << 16) + 3;
  // Adds what a problem of this part has besides: the lengths of its blocks, the nodes of its
  // ranks.
  std::function<void(CaseRunner&, CollectiveProblem&)> complete{};
  // Says so of a case: "blocks of different lengths, ".
  std::function<std::string(const CollectiveProblem&)> besides{};
  // Looks at a cost before the price is compared.
  std::function<void(CaseRunner&, Played&, const CollectiveProblem&)> look_at_cost{};
};

// The checks of every collective, which ask all of its battery (judge/situation.cpp): 1 to 8 ranks,
// 12, 13, 16 and 17, many counts, all roots where it has one, two calls in one run; groups that are
// not the world; every element type, with what its values may be; operators and schedules where it
// reduces; its cost, one call at a time, also of 5·10⁹ elements; and a rank that dies.
Exam collective_exam(const CollectiveContract& contract);

}  // namespace lockstep::grader
