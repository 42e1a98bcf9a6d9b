// What a header says, as text: compiled once with NVIDIA's headers and once with those that paper
// declares, and compared by the test.
#include <cublas_v2.h>
#include <nccl.h>

#include <cstddef>

#include "tests/paper/declared/facts.hpp"

namespace {

template <typename T>
std::string type_name() {
  return __PRETTY_FUNCTION__;
}

// NVIDIA's header has overloads of these two, of which one is the library's.
using Types = cudaDataType;
[[maybe_unused]] cublasStatus_t (*const product)(cublasHandle_t, cublasOperation_t,
                                                 cublasOperation_t, int, int, int, const void*,
                                                 const void*, Types, int, const void*, Types, int,
                                                 const void*, void*, Types, int,
                                                 cublasComputeType_t,
                                                 cublasGemmAlgo_t) = &cublasGemmEx;
[[maybe_unused]] cublasStatus_t (*const products)(cublasHandle_t, cublasOperation_t,
                                                  cublasOperation_t, int, int, int, const void*,
                                                  const void*, Types, int, long long, const void*,
                                                  Types, int, long long, const void*, void*, Types,
                                                  int, long long, int, cublasComputeType_t,
                                                  cublasGemmAlgo_t) = &cublasGemmStridedBatchedEx;

}  // namespace

#define VALUE(name) all[#name] = std::to_string(static_cast<long long>(name));
#define SIGNATURE(name) all[#name] = type_name<decltype(&name)>();

lockstep::test::Facts FACTS() {
  lockstep::test::Facts all;
  VALUE(CUBLAS_VERSION)
  VALUE(CUBLAS_STATUS_SUCCESS)
  VALUE(CUBLAS_STATUS_NOT_INITIALIZED)
  VALUE(CUBLAS_STATUS_ALLOC_FAILED)
  VALUE(CUBLAS_STATUS_INVALID_VALUE)
  VALUE(CUBLAS_STATUS_ARCH_MISMATCH)
  VALUE(CUBLAS_STATUS_MAPPING_ERROR)
  VALUE(CUBLAS_STATUS_EXECUTION_FAILED)
  VALUE(CUBLAS_STATUS_INTERNAL_ERROR)
  VALUE(CUBLAS_STATUS_NOT_SUPPORTED)
  VALUE(CUBLAS_STATUS_LICENSE_ERROR)
  VALUE(CUBLAS_OP_N)
  VALUE(CUBLAS_OP_T)
  VALUE(CUBLAS_OP_C)
  VALUE(CUBLAS_POINTER_MODE_HOST)
  VALUE(CUBLAS_POINTER_MODE_DEVICE)
  VALUE(CUBLAS_GEMM_DEFAULT)
  VALUE(CUBLAS_DEFAULT_MATH)
  VALUE(CUBLAS_PEDANTIC_MATH)
  VALUE(CUBLAS_TF32_TENSOR_OP_MATH)
  VALUE(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)
  VALUE(CUBLAS_COMPUTE_16F)
  VALUE(CUBLAS_COMPUTE_16F_PEDANTIC)
  VALUE(CUBLAS_COMPUTE_32F)
  VALUE(CUBLAS_COMPUTE_32F_PEDANTIC)
  VALUE(CUBLAS_COMPUTE_64F)
  VALUE(CUBLAS_COMPUTE_64F_PEDANTIC)
  VALUE(CUBLAS_COMPUTE_32F_FAST_16F)
  VALUE(CUBLAS_COMPUTE_32F_FAST_16BF)
  VALUE(CUBLAS_COMPUTE_32F_FAST_TF32)
  SIGNATURE(cublasCreate_v2)
  SIGNATURE(cublasDestroy_v2)
  SIGNATURE(cublasGetVersion_v2)
  SIGNATURE(cublasGetStatusName)
  SIGNATURE(cublasGetStatusString)
  SIGNATURE(cublasSetWorkspace_v2)
  SIGNATURE(cublasSetStream_v2)
  SIGNATURE(cublasGetStream_v2)
  SIGNATURE(cublasGetPointerMode_v2)
  SIGNATURE(cublasSetPointerMode_v2)
  SIGNATURE(cublasGetMathMode)
  SIGNATURE(cublasSetMathMode)
  SIGNATURE(cublasSgemm_v2)
  SIGNATURE(cublasDgemm_v2)
  SIGNATURE(cublasSgemmStridedBatched)
  SIGNATURE(cublasDgemmStridedBatched)
  VALUE(NCCL_VERSION_CODE)
  VALUE(NCCL_UNIQUE_ID_BYTES)
  VALUE(NCCL_SPLIT_NOCOLOR)
  VALUE(sizeof(ncclUniqueId))
  VALUE(sizeof(ncclConfig_t))
  VALUE(offsetof(ncclConfig_t, magic))
  VALUE(offsetof(ncclConfig_t, version))
  VALUE(offsetof(ncclConfig_t, blocking))
  VALUE(offsetof(ncclConfig_t, cgaClusterSize))
  VALUE(offsetof(ncclConfig_t, minCTAs))
  VALUE(offsetof(ncclConfig_t, maxCTAs))
  VALUE(offsetof(ncclConfig_t, netName))
  VALUE(offsetof(ncclConfig_t, splitShare))
  VALUE(offsetof(ncclConfig_t, trafficClass))
  VALUE(offsetof(ncclConfig_t, commName))
  VALUE(offsetof(ncclConfig_t, collnetEnable))
  VALUE(offsetof(ncclConfig_t, CTAPolicy))
  VALUE(offsetof(ncclConfig_t, shrinkShare))
  VALUE(offsetof(ncclConfig_t, nvlsCTAs))
  VALUE(offsetof(ncclConfig_t, nChannelsPerNetPeer))
  VALUE(offsetof(ncclConfig_t, nvlinkCentricSched))
  VALUE(ncclSuccess)
  VALUE(ncclUnhandledCudaError)
  VALUE(ncclSystemError)
  VALUE(ncclInternalError)
  VALUE(ncclInvalidArgument)
  VALUE(ncclInvalidUsage)
  VALUE(ncclRemoteError)
  VALUE(ncclInProgress)
  VALUE(ncclNumResults)
  VALUE(ncclSum)
  VALUE(ncclProd)
  VALUE(ncclMax)
  VALUE(ncclMin)
  VALUE(ncclAvg)
  VALUE(ncclNumOps)
  VALUE(ncclMaxRedOp)
  VALUE(ncclInt8)
  VALUE(ncclUint8)
  VALUE(ncclInt32)
  VALUE(ncclUint32)
  VALUE(ncclInt64)
  VALUE(ncclUint64)
  VALUE(ncclFloat16)
  VALUE(ncclFloat32)
  VALUE(ncclFloat64)
  VALUE(ncclBfloat16)
  VALUE(ncclFloat8e4m3)
  VALUE(ncclFloat8e5m2)
  VALUE(ncclNumTypes)
  VALUE(ncclScalarDevice)
  VALUE(ncclScalarHostImmediate)
  SIGNATURE(ncclGetVersion)
  SIGNATURE(ncclGetErrorString)
  SIGNATURE(ncclGetLastError)
  SIGNATURE(ncclGetUniqueId)
  SIGNATURE(ncclCommInitRank)
  SIGNATURE(ncclCommInitRankConfig)
  SIGNATURE(ncclCommSplit)
  SIGNATURE(ncclCommFinalize)
  SIGNATURE(ncclCommDestroy)
  SIGNATURE(ncclCommAbort)
  SIGNATURE(ncclCommGetAsyncError)
  SIGNATURE(ncclCommCount)
  SIGNATURE(ncclCommCuDevice)
  SIGNATURE(ncclCommUserRank)
  SIGNATURE(ncclRedOpCreatePreMulSum)
  SIGNATURE(ncclRedOpDestroy)
  SIGNATURE(ncclReduce)
  SIGNATURE(ncclBroadcast)
  SIGNATURE(ncclAllReduce)
  SIGNATURE(ncclReduceScatter)
  SIGNATURE(ncclAllGather)
  SIGNATURE(ncclSend)
  SIGNATURE(ncclRecv)
  SIGNATURE(ncclGroupStart)
  SIGNATURE(ncclGroupEnd)
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  VALUE(config.size)
  VALUE(config.magic)
  VALUE(config.version)
  VALUE(config.blocking)
  VALUE(config.splitShare)
  VALUE(config.nvlinkCentricSched)
  return all;
}
