// Task: the two loops of training with a parameter server. serve() takes the workers' requests one
// after the other, until every worker has finished or is lost. It answers each pull with the
// parameters, and turns pushes into updates: at once for S > 0, once per round for S = 0. work()
// pulls, computes and pushes. The contract is in engine/parallel/async_sgd/parameter_server.hpp.
#include "engine/parallel/async_sgd/parameter_server.hpp"

#include <utility>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::async_sgd {
namespace {

// >>> your code
// <<< your code

}  // namespace

void serve(Workers& workers, const Tensor& parameters, const ServeOptions& options) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)workers, (void)parameters, (void)options;
  throw NotImplemented("parameter_server");
  // <<< your code
}

void work(Servers& servers, const GradientFn& gradient, int steps) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)servers, (void)gradient, (void)steps;
  throw NotImplemented("parameter_server");
  // <<< your code
}

}  // namespace lockstep::async_sgd
