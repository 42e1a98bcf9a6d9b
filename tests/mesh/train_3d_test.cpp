// Which gradients are summed over which ranks, and which elements a rank counts.
#include "engine/parallel/mesh/train_3d.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using mesh::Axis;
using mesh::AxisSet;
using mesh::AxisSizes;
using mesh::GradientKind;
using mesh::GradientSum;
using mesh::MicroBatch;
using mesh::reduce_gradients_3d;

namespace {

const GradientKind cut{.copies = {Axis::dp, Axis::cp, Axis::ep}, .partial = {}};
const GradientKind copy{.copies = {Axis::tp, Axis::dp, Axis::cp, Axis::ep}, .partial = {}};
const GradientKind norm_under_sp{.copies = {Axis::tp, Axis::dp}, .partial = {Axis::tp}};
const GradientKind tied{.copies = {Axis::pp, Axis::dp}, .partial = {Axis::pp}};
const GradientKind expert{.copies = {Axis::dp, Axis::cp}, .partial = {}};

}  // namespace

TEST_CASE(
    "3D: cut or whole, a gradient is the mean over dp, and partial copies are summed as well") {
  const std::vector<GradientKind> all{cut, copy, norm_under_sp, tied};
  CHECK(reduce_gradients_3d({.tp = 2, .dp = 4, .pp = 2}, all, MicroBatch::last) ==
        std::vector<GradientSum>{{0, {Axis::dp}, 0.25},
                                 {1, {Axis::dp}, 0.25},
                                 {2, {Axis::tp, Axis::dp}, 0.25},
                                 {3, {Axis::pp, Axis::dp}, 0.25}});
}

TEST_CASE("3D: nothing travels before the last micro-batch, nor where each rank has all of it") {
  const std::vector<GradientKind> all{cut, copy, norm_under_sp, tied};
  CHECK(reduce_gradients_3d({.tp = 2, .dp = 4, .pp = 2}, all, MicroBatch::more_follow).empty());
  CHECK(reduce_gradients_3d({.tp = 2, .pp = 2}, all, MicroBatch::last) ==
        std::vector<GradientSum>{{2, {Axis::tp}, 1}, {3, {Axis::pp}, 1}});
  CHECK(reduce_gradients_3d({}, all, MicroBatch::last).empty());
}

TEST_CASE("3D: an expert's gradient is divided by all data shards, not by its own group") {
  const std::vector<GradientKind> all{cut, expert};
  CHECK(reduce_gradients_3d({.cp = 2, .ep = 4, .dp = 2}, all, MicroBatch::last) ==
        std::vector<GradientSum>{{0, {Axis::cp, Axis::ep, Axis::dp}, 1.0 / 16},
                                 {1, {Axis::cp, Axis::dp}, 1.0 / 16}});
  // Where nobody else has it, it is divided all the same.
  CHECK(reduce_gradients_3d({.ep = 4}, all, MicroBatch::last)[1] == GradientSum{1, {}, 0.25});
}

TEST_CASE("3D: a gradient that is partial where it cannot be is refused") {
  const std::vector<GradientKind> no_copy{{.copies = {Axis::dp}, .partial = {Axis::tp}}};
  const std::vector<GradientKind> data{copy, {.copies = {Axis::dp}, .partial = {Axis::dp}}};
  CHECK_THROWS_WITH(reduce_gradients_3d({.tp = 2}, no_copy, MicroBatch::last),
                    contains("gradient 0 is partial along tp"));
  CHECK_THROWS_WITH(reduce_gradients_3d({.dp = 2}, data, MicroBatch::more_follow),
                    contains("gradient 1 is partial along dp"));
}

TEST_CASE("3D: of the ranks that hold an element, apart from replicas, one counts it") {
  CHECK(counts_in_norm(cut, {.tp = 1, .dp = 3, .pp = 1}));
  CHECK(counts_in_norm(copy, {.dp = 3, .pp = 1}));
  CHECK_FALSE(counts_in_norm(copy, {.tp = 1}));
  CHECK_FALSE(counts_in_norm(norm_under_sp, {.tp = 1, .pp = 1}));
  CHECK(counts_in_norm(tied, {.tp = 1}));
  CHECK_FALSE(counts_in_norm(tied, {.pp = 3}));
  CHECK(counts_in_norm(expert, {.ep = 3}));
  CHECK_FALSE(counts_in_norm(expert, {.cp = 1, .ep = 3}));
}
