# The CUDA toolkit, found or missed, and how CUDA files are compiled: by commands that call nvcc.
# CMake's own CUDA language would try the compiler in every configuration, which takes ten seconds,
# and knows no C++20 in CMake 3.25. Nothing here is built unless somebody asks for `gpu-library`.
#
#   LOCKSTEP_CUDA            whether GPU code can be built
#   LOCKSTEP_CUDA_STATE      the same as a sentence, without semicolons: definitions are lists
#   LOCKSTEP_CUBLAS, LOCKSTEP_NCCL   what to link: NVIDIA's libraries, or paper's where the toolkit has
#                            none (docs/decisions/0045); LOCKSTEP_DECLARED then holds their names
#   LOCKSTEP_NVCC, LOCKSTEP_CUDA_INCLUDE (folders), LOCKSTEP_CUDART, LOCKSTEP_NVCC_FLAGS

set(LOCKSTEP_CUDA_VERSION 13)   # our stand-ins for NVIDIA's libraries have the names of this one
set(cuda_help "run ./lab setup --gpu, which fetches NVIDIA's compiler, or install NVIDIA's CUDA Toolkit ${LOCKSTEP_CUDA_VERSION} and run cmake --fresh --preset release")

set(LOCKSTEP_CUDA OFF)
if(NOT LOCKSTEP_CUDA_PLACES)
  set(LOCKSTEP_CUDA_PLACES ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
      ${CMAKE_SOURCE_DIR}/build/cuda/nvidia/cu${LOCKSTEP_CUDA_VERSION})   # ./lab setup --gpu
endif()
function(lockstep_cuda_version nvcc version)
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" release "${said}")
  set(${version} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()
function(lockstep_is_wanted_nvcc result nvcc)
  lockstep_cuda_version(${nvcc} version)
  if(NOT version MATCHES "^${LOCKSTEP_CUDA_VERSION}\\.")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
# An older toolkit may stand first in PATH: the first of the wanted version counts.
find_program(LOCKSTEP_NVCC nvcc PATHS ${LOCKSTEP_CUDA_PLACES} PATH_SUFFIXES bin VALIDATOR lockstep_is_wanted_nvcc)
mark_as_advanced(LOCKSTEP_NVCC)
if(LOCKSTEP_SANITIZE)
  set(LOCKSTEP_CUDA_STATE "off (this build has sanitizers, which do not know GPU memory): GPU tests are skipped")
elseif(NOT LOCKSTEP_NVCC)
  find_program(other_nvcc nvcc PATHS ${LOCKSTEP_CUDA_PLACES} PATH_SUFFIXES bin NO_CACHE)
  if(other_nvcc)
    lockstep_cuda_version(${other_nvcc} version)
    set(LOCKSTEP_CUDA_STATE "off (${other_nvcc} is of CUDA ${version}, but the GPU code needs ${LOCKSTEP_CUDA_VERSION}: ${cuda_help}): GPU tests are skipped")
  else()
    set(LOCKSTEP_CUDA_STATE "off (no nvcc: ${cuda_help}): no GPU code is built, GPU tests are skipped")
  endif()
else()
  lockstep_cuda_version(${LOCKSTEP_NVCC} version)
  get_filename_component(toolkit ${LOCKSTEP_NVCC} REALPATH)
  get_filename_component(toolkit ${toolkit}/../.. ABSOLUTE)
  set(suffixes lib64 lib targets/x86_64-linux/lib)
  find_path(LOCKSTEP_CUDART_INCLUDE cuda_runtime_api.h HINTS ${toolkit} PATH_SUFFIXES include targets/x86_64-linux/include)
  find_library(LOCKSTEP_CUDART libcudart.so.${LOCKSTEP_CUDA_VERSION} HINTS ${toolkit} PATH_SUFFIXES ${suffixes} NO_DEFAULT_PATH)
  mark_as_advanced(LOCKSTEP_CUDART_INCLUDE LOCKSTEP_CUDART)
  if(LOCKSTEP_CUDART_INCLUDE AND LOCKSTEP_CUDART)
    set(LOCKSTEP_CUDA ON)
    set(LOCKSTEP_CUDA_STATE "${version}, in ${toolkit}")
  else()
    set(LOCKSTEP_CUDA_STATE "off (${toolkit} has nvcc, but not the headers and the library of the runtime: ${cuda_help}): GPU tests are skipped")
  endif()
endif()

# lockstep_cuda_library(CUBLAS cublas 13 cublas_v2.h): what NVIDIA's runtime does not bring.
function(lockstep_cuda_library variable name version header)
  find_library(LOCKSTEP_${variable}_LIBRARY lib${name}.so.${version} HINTS ${toolkit} PATH_SUFFIXES ${suffixes} NO_DEFAULT_PATH)
  mark_as_advanced(LOCKSTEP_${variable}_LIBRARY)
  if(LOCKSTEP_${variable}_LIBRARY AND EXISTS ${LOCKSTEP_CUDART_INCLUDE}/${header})
    set(LOCKSTEP_${variable} ${LOCKSTEP_${variable}_LIBRARY} PARENT_SCOPE)
    return()
  endif()
  set(LOCKSTEP_${variable} lockstep_paper_${name} PARENT_SCOPE)
  set(LOCKSTEP_DECLARED ${LOCKSTEP_DECLARED} ${name} PARENT_SCOPE)
  set(LOCKSTEP_CUDA_INCLUDE ${LOCKSTEP_CUDA_INCLUDE} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../engine/paper/declared/${name} PARENT_SCOPE)
endfunction()

set(LOCKSTEP_NCCL OFF)
set(LOCKSTEP_DECLARED "")
if(LOCKSTEP_CUDA)
  set(LOCKSTEP_CUDA_INCLUDE ${LOCKSTEP_CUDART_INCLUDE})
  lockstep_cuda_library(CUBLAS cublas ${LOCKSTEP_CUDA_VERSION} cublas_v2.h)
  lockstep_cuda_library(NCCL nccl 2 nccl.h)
  if(LOCKSTEP_DECLARED)
    string(REPLACE ";" " and " declared "${LOCKSTEP_DECLARED}")
    string(APPEND LOCKSTEP_CUDA_STATE ", with ${declared} as paper declares them")
  endif()
endif()
message(STATUS "CUDA: ${LOCKSTEP_CUDA_STATE}")
# A gate that is skipped is none.
if(NOT LOCKSTEP_CUDA AND NOT LOCKSTEP_SANITIZE AND "$ENV{CI}" STREQUAL "true")
  message(FATAL_ERROR "CI=true asks for all tests, and those of the GPU cannot be built: CUDA is ${LOCKSTEP_CUDA_STATE}")
endif()

# One PTX, for compute_80, of which ptxas makes the code of both processors. What paper runs is that
# PTX: uncompressed, and with the lines of the source. In it, nvcc has fused a product and a sum where
# it wants to, but it leaves those that round to nearest by default open, and ptxas would fuse more
# of them: then a GPU would round otherwise than paper. So ptxas fuses nothing.
set(LOCKSTEP_NVCC_FLAGS -std=c++20 --expt-relaxed-constexpr -diag-suppress 445 -O3 -lineinfo -cudart shared --no-compress
    "-gencode" "arch=compute_80,code=[compute_80,sm_80,sm_90]" -Xcompiler=-fPIC -Xptxas=-v,-fmad=false)
foreach(name IN LISTS LOCKSTEP_DECLARED)
  list(APPEND LOCKSTEP_NVCC_FLAGS -isystem ${CMAKE_CURRENT_LIST_DIR}/../engine/paper/declared/${name})
endforeach()

# lockstep_cuda_objects(objects kernels/fill.cu …): one object a source, in the list `objects`. What
# ptxas says of registers and spills lies beside each, in FILE.cu.ptxas.
function(lockstep_cuda_objects result)
  set(objects "")
  foreach(source IN LISTS ARGN)
    get_filename_component(path ${source} ABSOLUTE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/cuda/${source}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    string(REGEX REPLACE "\\.o$" "" stem ${object})
    add_custom_command(OUTPUT ${object} BYPRODUCTS ${stem}.ptxas DEPFILE ${stem}.d
      COMMAND sh ${CMAKE_SOURCE_DIR}/cmake/nvcc.sh ${stem}.ptxas ${CMAKE_CXX_COMPILER_LAUNCHER} ${LOCKSTEP_NVCC}
              ${LOCKSTEP_NVCC_FLAGS} -ccbin ${CMAKE_CXX_COMPILER} -I${CMAKE_SOURCE_DIR}
              -MD -MF ${stem}.d -MT ${object} -c ${path} -o ${object}
      DEPENDS ${path} ${CMAKE_SOURCE_DIR}/cmake/nvcc.sh COMMENT "Building CUDA object ${source}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

# lockstep_opens_gpu(target): the object that it opens takes the engine's base and tensor rooms from
# the program, whole (docs/decisions/0042).
function(lockstep_opens_gpu target)
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON
                        LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,lockstep_base,lockstep_tensor")
endfunction()
