// What students' files are compiled with already read: the contracts of all parts and the usual
// standard headers. A file still includes what it uses; this only makes the compiler quick.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/all_to_all.hpp"
#include "engine/collectives/barrier.hpp"
#include "engine/collectives/broadcast.hpp"
#include "engine/collectives/exchange.hpp"
#include "engine/collectives/gather.hpp"
#include "engine/collectives/reduce.hpp"
#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/scatter.hpp"
#include "engine/comm/hang_report.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "engine/optim/scale_learning_rate.hpp"
#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "engine/parallel/data_parallel/token_weighted_mean.hpp"
#include "engine/plan/model_memory.hpp"
#include "engine/plan/training_time.hpp"
#include "engine/replicas/broadcast_parameters.hpp"
#include "engine/train/single_device_loop.hpp"
