// -log softmax at the labels, of whole rows and of rows that are split. Rows are independent; their
// terms go to scratch in float64, and one block adds them in the order of rows.
#include "engine/gpu/kernels/ordered_sums.cuh"
#include "engine/gpu/kernels/softmax_rows.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

struct Labels {
  const std::int64_t* of_row;
  std::int64_t rows, classes, ignored;
  int mean;  // 1: what is summed is divided by the rows that are not ignored

  // Wrong labels were told of by check_indices, and add nothing.
  __device__ bool counts(std::int64_t label) const {
    return label != ignored && label >= 0 && label < classes;
  }
};

template <typename T, int size>
__global__ void entropy_rows(const T* logits, Labels labels, T* probabilities, double* terms) {
  using Row = Team<size>;
  for (std::int64_t r = Row::first_row(); r < labels.rows; r += Row::row_step()) {
    const T* x = logits + r * labels.classes;
    const auto [largest, sum] =
        write_softmax<T, size>(x, labels.classes, probabilities + r * labels.classes);
    if (Row::lane() != 0) continue;
    const std::int64_t label = labels.of_row[r];
    terms[r] = labels.counts(label)
                   ? log(static_cast<double>(sum)) +
                         (static_cast<double>(largest) - static_cast<double>(wide(x[label])))
                   : 0;
  }
}

// The factor of a row's term. It is computed in one block, all of whose threads get it.
__device__ double share_of(const Labels& labels) {
  if (labels.mean == 0) return 1;
  std::int64_t counted = 0;
  for (std::int64_t r = threadIdx.x; r < labels.rows; r += block_threads) {
    counted += labels.of_row[r] == labels.ignored ? 0 : 1;
  }
  return 1 / static_cast<double>(Team<block_threads>::sum(counted));
}

template <typename Loss>
__global__ void add_terms(const double* terms, Labels labels, Loss* loss) {
  const double share = share_of(labels);
  const double total = ordered_sum<1>(labels.rows, [terms](std::int64_t r) { return terms[r]; });
  if (threadIdx.x == 0) *loss = static_cast<Loss>(total * share);
}

template <typename Loss>
__global__ void factor_of_rows(const Loss* grad, Labels labels, double* factor) {
  const double share = share_of(labels);
  if (threadIdx.x == 0) *factor = static_cast<double>(*grad) * share;
}

template <typename T, int size>
__global__ void entropy_backward_rows(const T* probabilities, Labels labels, const double* factor,
                                      T* out) {
  using Row = Team<size>;
  using V = Wide<T>;
  const V by = static_cast<V>(*factor);
  for (std::int64_t r = Row::first_row(); r < labels.rows; r += Row::row_step()) {
    const std::int64_t label = labels.of_row[r];
    const bool counted = labels.counts(label);
    const T* p = probabilities + r * labels.classes;
    T* to = out + r * labels.classes;
    for (std::int64_t j = Row::lane(); j < labels.classes; j += size) {
      const V wanted = j == label ? V(1) : V(0);
      to[j] = static_cast<T>(counted ? (wide(p[j]) - wanted) * by : V(0));
    }
  }
}

// Split rows: the columns that are here, and padding behind them.
template <typename T>
struct SplitRows {
  const T* logits;
  std::int64_t rows, width;
  ops::ColumnSplit columns;
};

template <typename T, int size>
__global__ void maximum_rows(SplitRows<T> x, Wide<T>* maximum) {
  using Row = Team<size>;
  for (std::int64_t r = Row::first_row(); r < x.rows; r += Row::row_step()) {
    Wide<T> most = -static_cast<Wide<T>>(INFINITY);
    for (std::int64_t j = Row::lane(); j < x.columns.count; j += size) {
      most = Largest{}(most, wide(x.logits[r * x.width + j]));
    }
    most = Row::largest(most);
    if (Row::lane() == 0) maximum[r] = most;
  }
}

template <typename T, int size>
__global__ void exponential_rows(SplitRows<T> x, const Wide<T>* maximum, Wide<T>* sum) {
  using Row = Team<size>;
  for (std::int64_t r = Row::first_row(); r < x.rows; r += Row::row_step()) {
    Wide<T> total = 0;
    for (std::int64_t j = Row::lane(); j < x.columns.count; j += size) {
      total += exponential(wide(x.logits[r * x.width + j]) - maximum[r]);
    }
    total = Row::sum(total);
    if (Row::lane() == 0) sum[r] = total;
  }
}

template <typename T>
__global__ void pick(SplitRows<T> x, const std::int64_t* labels, std::int64_t ignored,
                     Wide<T>* picked) {
  for (std::int64_t r = first_place(); r < x.rows; r += place_step()) {
    const std::int64_t k = labels[r] - x.columns.first;
    const bool here = labels[r] != ignored && k >= 0 && k < x.columns.count;
    picked[r] = here ? wide(x.logits[r * x.width + k]) : Wide<T>(0);
  }
}

template <typename V>
__global__ void split_terms(const V* maximum, const V* sum, const V* picked, Labels labels,
                            double* terms) {
  for (std::int64_t r = first_place(); r < labels.rows; r += place_step()) {
    terms[r] = labels.of_row[r] != labels.ignored
                   ? log(static_cast<double>(sum[r])) +
                         (static_cast<double>(maximum[r]) - static_cast<double>(picked[r]))
                   : 0;
  }
}

template <typename T, int size>
__global__ void split_backward_rows(SplitRows<T> x, const Wide<T>* maximum, const Wide<T>* sum,
                                    Labels labels, const double* factor, T* out) {
  using Row = Team<size>;
  using V = Wide<T>;
  const V by = static_cast<V>(*factor);
  for (std::int64_t r = Row::first_row(); r < x.rows; r += Row::row_step()) {
    const std::int64_t label = labels.of_row[r];
    const std::int64_t count = labels.counts(label) ? x.columns.count : 0;
    const V most = maximum[r], inverse = 1 / sum[r];
    for (std::int64_t j = Row::lane(); j < x.width; j += size) {
      const std::int64_t at = r * x.width + j;
      const V wanted = j == label - x.columns.first ? V(1) : V(0);
      out[at] = static_cast<T>(
          j < count ? (exponential(wide(x.logits[at]) - most) * inverse - wanted) * by : V(0));
    }
  }
}

template <typename T>
SplitRows<T> split_rows_of(const Tensor& logits, const ops::ColumnSplit& columns) {
  const auto [rows, width] = rows_of(logits);
  return {elements<const T>(logits), rows, width, columns};
}

Labels labels_of(const Tensor& logits, const Tensor& labels,
                 const ops::CrossEntropyOptions& options) {
  const auto [rows, classes] = rows_of(logits);
  return {elements<const std::int64_t>(labels), rows, classes, options.ignored_label,
          options.reduction == ops::Reduction::mean ? 1 : 0};
}

}  // namespace

void cross_entropy(const Call& call, const Tensor& logits, const Tensor& labels,
                   const ops::CrossEntropyOptions& options, const Tensor& probabilities,
                   const Tensor& loss) {
  const Labels wanted = labels_of(logits, labels, options);
  const auto terms = call.scratch.take_of<double>(static_cast<std::size_t>(wanted.rows));
  visit_float(logits, [&]<typename T>() {
    by_rows(wanted.rows, wanted.classes, [&]<int size>(unsigned blocks, unsigned threads) {
      entropy_rows<T, size><<<blocks, threads, 0, call.stream>>>(
          elements<const T>(logits), wanted, elements<T>(probabilities), terms.as<double>());
    });
    check_launch("cross_entropy");
    add_terms<<<1, block_threads, 0, call.stream>>>(terms.as<const double>(), wanted,
                                                    elements<Wide<T>>(loss));
  });
  check_launch("cross_entropy");
}

void cross_entropy_backward(const Call& call, const Tensor& grad, const Tensor& probabilities,
                            const Tensor& labels, const ops::CrossEntropyOptions& options,
                            const Tensor& out) {
  if (out.numel() == 0) return;
  const Labels wanted = labels_of(probabilities, labels, options);
  const auto factor = call.scratch.take_of<double>(1);
  visit_float(probabilities, [&]<typename T>() {
    factor_of_rows<<<1, block_threads, 0, call.stream>>>(elements<const Wide<T>>(grad), wanted,
                                                         factor.as<double>());
    check_launch("cross_entropy_backward");
    by_rows(wanted.rows, wanted.classes, [&]<int size>(unsigned blocks, unsigned threads) {
      entropy_backward_rows<T, size><<<blocks, threads, 0, call.stream>>>(
          elements<const T>(probabilities), wanted, factor.as<const double>(), elements<T>(out));
    });
  });
  check_launch("cross_entropy_backward");
}

void row_maximum(const Call& call, const Tensor& logits, const ops::ColumnSplit& columns,
                 const Tensor& maximum) {
  visit_float(logits, [&]<typename T>() {
    const auto x = split_rows_of<T>(logits, columns);
    by_rows(x.rows, columns.count, [&]<int size>(unsigned blocks, unsigned threads) {
      maximum_rows<T, size><<<blocks, threads, 0, call.stream>>>(x, elements<Wide<T>>(maximum));
    });
  });
  check_launch("row_maximum");
}

void sum_of_exponentials(const Call& call, const Tensor& logits, const Tensor& maximum,
                         const ops::ColumnSplit& columns, const Tensor& sum) {
  visit_float(logits, [&]<typename T>() {
    const auto x = split_rows_of<T>(logits, columns);
    by_rows(x.rows, columns.count, [&]<int size>(unsigned blocks, unsigned threads) {
      exponential_rows<T, size><<<blocks, threads, 0, call.stream>>>(
          x, elements<const Wide<T>>(maximum), elements<Wide<T>>(sum));
    });
  });
  check_launch("sum_of_exponentials");
}

void picked_logits(const Call& call, const Tensor& logits, const Tensor& labels,
                   const ops::ColumnSplit& columns, const ops::CrossEntropyOptions& options,
                   const Tensor& picked) {
  if (picked.numel() == 0) return;
  visit_float(logits, [&]<typename T>() {
    const auto x = split_rows_of<T>(logits, columns);
    pick<<<blocks_for(x.rows, block_threads), block_threads, 0, call.stream>>>(
        x, elements<const std::int64_t>(labels), options.ignored_label, elements<Wide<T>>(picked));
  });
  check_launch("picked_logits");
}

void split_cross_entropy(const Call& call, const Tensor& maximum, const Tensor& sum,
                         const Tensor& picked, const Tensor& labels,
                         const ops::CrossEntropyOptions& options, const Tensor& loss) {
  const Labels wanted{elements<const std::int64_t>(labels), maximum.numel(), 0,
                      options.ignored_label, options.reduction == ops::Reduction::mean ? 1 : 0};
  const auto terms = call.scratch.take_of<double>(static_cast<std::size_t>(wanted.rows));
  visit_float(maximum, [&]<typename T>() {
    using V = Wide<T>;
    if (wanted.rows > 0) {
      split_terms<<<blocks_for(wanted.rows, block_threads), block_threads, 0, call.stream>>>(
          elements<const V>(maximum), elements<const V>(sum), elements<const V>(picked), wanted,
          terms.as<double>());
      check_launch("split_cross_entropy");
    }
    add_terms<<<1, block_threads, 0, call.stream>>>(terms.as<const double>(), wanted,
                                                    elements<V>(loss));
  });
  check_launch("split_cross_entropy");
}

void split_cross_entropy_backward(const Call& call, const Tensor& grad, const Tensor& logits,
                                  const Tensor& maximum, const Tensor& sum, const Tensor& labels,
                                  const ops::ColumnSplit& columns,
                                  const ops::CrossEntropyOptions& options, const Tensor& out) {
  if (out.numel() == 0) return;
  Labels wanted = labels_of(logits, labels, options);
  wanted.classes = columns.whole;
  const auto factor = call.scratch.take_of<double>(1);
  visit_float(logits, [&]<typename T>() {
    factor_of_rows<<<1, block_threads, 0, call.stream>>>(elements<const Wide<T>>(grad), wanted,
                                                         factor.as<double>());
    check_launch("split_cross_entropy_backward");
    const auto x = split_rows_of<T>(logits, columns);
    by_rows(x.rows, x.width, [&]<int size>(unsigned blocks, unsigned threads) {
      split_backward_rows<T, size><<<blocks, threads, 0, call.stream>>>(
          x, elements<const Wide<T>>(maximum), elements<const Wide<T>>(sum), wanted,
          factor.as<const double>(), elements<T>(out));
    });
  });
  check_launch("split_cross_entropy_backward");
}

}  // namespace lockstep::gpu::kernels
