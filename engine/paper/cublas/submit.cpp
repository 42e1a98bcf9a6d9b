// From what cuBLAS was asked for to an operation of the stream.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/paper/cublas/handle.hpp"

namespace lockstep::paper {
namespace {

// Thrown inside of a call, and returned by it.
struct Refused {
  cublasStatus_t status;
};

[[noreturn]] void refuse(const ProductCall& call, cublasStatus_t status,
                         const std::string& sentence) {
  paperBadCall((std::string(call.function) + ": " + sentence).c_str());
  throw Refused{status};
}

std::optional<Element> element_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_32F:
      return Element::float32;
    case CUDA_R_64F:
      return Element::float64;
    case CUDA_R_16BF:
      return Element::bfloat16;
    case CUDA_R_16F:
      return Element::float16;
    default:
      return std::nullopt;
  }
}

Factor factor_of(const ProductCall& call, const char* name, const Given& given, std::int64_t rows,
                 std::int64_t columns, cublasOperation_t turn) {
  const auto element = element_of(given.type);
  if (!element) {
    refuse(call, CUBLAS_STATUS_NOT_SUPPORTED,
           std::string("paper knows no products of matrices of type ") +
               std::to_string(static_cast<int>(given.type)));
  }
  Factor factor{given.address, *element,      Turn::as_it_is, rows,
                columns,       given.leading, given.stride};
  if (turn != CUBLAS_OP_N) {  // of real numbers, CUBLAS_OP_C is CUBLAS_OP_T
    factor.turn = Turn::transposed;
    std::swap(factor.rows, factor.columns);
  }
  if (given.leading < std::max<std::int64_t>(1, factor.rows)) {
    refuse(call, CUBLAS_STATUS_INVALID_VALUE,
           std::string("the leading dimension of ") + name + " is " +
               std::to_string(given.leading) + ", but a column of it has " +
               std::to_string(factor.rows) +
               " elements; matrices are stored by columns, and the leading dimension is at least "
               "the number of rows");
  }
  return factor;
}

Scale scale_of(const cublasContext& handle, const void* given, Element sums) {
  if (handle.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    return {0, reinterpret_cast<std::uint64_t>(given)};
  }
  if (sums == Element::float64) return {*static_cast<const double*>(given), 0};
  return {*static_cast<const float*>(given), 0};
}

// Which types go with which sums: what an engine trains with, and nothing else.
void check_types(const ProductCall& call, const Product& product) {
  const bool doubles =
      call.compute == CUBLAS_COMPUTE_64F || call.compute == CUBLAS_COMPUTE_64F_PEDANTIC;
  const bool floats = call.compute == CUBLAS_COMPUTE_32F ||
                      call.compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                      call.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const Element a = product.a.element, b = product.b.element, c = product.c.element;
  const bool known = (doubles && a == Element::float64 && b == a && c == a) ||
                     (floats && a != Element::float64 && a == b &&
                      (c == a || (a != Element::float32 && c == Element::float32)));
  if (known) return;
  refuse(call, CUBLAS_STATUS_NOT_SUPPORTED,
         "paper has no product of these types (A " + std::to_string(static_cast<int>(call.a.type)) +
             ", B " + std::to_string(static_cast<int>(call.b.type)) + ", C " +
             std::to_string(static_cast<int>(call.c.type)) + ", sums " +
             std::to_string(static_cast<int>(call.compute)) +
             "); it has float32, bfloat16 and float16 with sums of float32, and float64");
}

// From the first to behind the last byte of a batch.
std::pair<std::uint64_t, std::uint64_t> span_of(const Factor& factor, std::int64_t batch) {
  const std::int64_t last =
      (batch - 1) * factor.stride * static_cast<std::int64_t>(bytes_of(factor.element));
  const std::uint64_t first =
      factor.address + static_cast<std::uint64_t>(std::min<std::int64_t>(last, 0));
  const std::uint64_t end =
      factor.address + static_cast<std::uint64_t>(std::max<std::int64_t>(last, 0));
  return {first, end + factor.extent()};
}

void check_overlap(const ProductCall& call, const Product& product) {
  const auto c = span_of(product.c, product.batch);
  const std::pair<const char*, const Factor*> factors[] = {{"A", &product.a}, {"B", &product.b}};
  for (const auto& [name, factor] : factors) {
    const auto other = span_of(*factor, product.batch);
    if (c.first < other.second && other.first < c.second && product.batch == 1) {
      refuse(call, CUBLAS_STATUS_INVALID_VALUE,
             std::string("C overlaps ") + name + ", which is read while C is written");
    }
  }
  const auto step =
      static_cast<std::uint64_t>(std::abs(product.c.stride)) * bytes_of(product.c.element);
  if (product.batch > 1 &&
      step < static_cast<std::uint64_t>(product.c.rows) * bytes_of(product.c.element)) {
    refuse(call, CUBLAS_STATUS_INVALID_VALUE,
           "the results of the batch overlap: the stride of C is " +
               std::to_string(product.c.stride) + ", and a column has " +
               std::to_string(product.c.rows) + " elements");
  }
}

Product product_of(const cublasContext& handle, const ProductCall& call) {
  if (call.m < 0 || call.n < 0 || call.k < 0 || call.batch < 0) {
    refuse(call, CUBLAS_STATUS_INVALID_VALUE, "a dimension is negative");
  }
  if (call.alpha == nullptr || call.beta == nullptr) {
    refuse(call, CUBLAS_STATUS_INVALID_VALUE, "alpha or beta is null");
  }
  Product product;
  product.m = call.m, product.n = call.n, product.k = call.k, product.batch = call.batch;
  product.a = factor_of(call, "A", call.a, call.m, call.k, call.turn_a);
  product.b = factor_of(call, "B", call.b, call.k, call.n, call.turn_b);
  product.c = factor_of(call, "C", call.c, call.m, call.n, CUBLAS_OP_N);
  check_types(call, product);
  product.alpha = scale_of(handle, call.alpha, product.a.element);
  product.beta = scale_of(handle, call.beta, product.a.element);
  const bool tf32 =
      call.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
      (call.compute == CUBLAS_COMPUTE_32F && (handle.math & 0xF) == CUBLAS_TF32_TENSOR_OP_MATH);
  if (tf32 && product.a.element == Element::float32) product.precision = Precision::tf32;
  check_overlap(call, product);
  return product;
}

}  // namespace

cublasStatus_t submit(cublasHandle_t given, const ProductCall& call) {
  const cublasContext* const handle = checked(given, call.function);
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  try {
    const Product product = product_of(*handle, call);
    if (product.m == 0 || product.n == 0 || product.batch == 0) return CUBLAS_STATUS_SUCCESS;
    const auto workspace = reinterpret_cast<std::uint64_t>(handle->workspace);
    LibraryWork work = [product, workspace](LibraryMemory& memory) {
      // cuBLAS may write to its workspace in any product. A touch of its first bytes is enough to
      // see two streams that share one.
      if (workspace != 0 && !memory.touch(Touch::write, workspace, 4)) return;
      multiply(product, memory);
    };
    const Submitted submitted = paperSubmit(handle->stream, call.function, &work);
    return submitted == Submitted::fine ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  } catch (const Refused& refused) {
    return refused.status;
  }
}

}  // namespace lockstep::paper
