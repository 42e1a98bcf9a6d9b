# Compiler flags as one interface target, the linker, and the libraries found or missed.
# A library that is missing turns a backend off; it never turns an error into silence: the
# summary at the end of the configuration says what is off.

# Warnings are errors with the compilers the house is tested with; a newer compiler's new warnings
# must not keep a student out.
set(werror OFF)
if(LOCKSTEP_WERROR AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(werror ON)
endif()

# g++ 12's -Wrestrict takes assignments of short strings for overlapping copies (GCC bug 105651).
add_library(lockstep_flags INTERFACE)
target_compile_features(lockstep_flags INTERFACE cxx_std_20)
target_compile_options(lockstep_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wno-sign-conversion -Wno-restrict $<$<BOOL:${werror}>:-Werror>)
target_include_directories(lockstep_flags INTERFACE ${CMAKE_SOURCE_DIR})
# __FILE__ is named from the root, wherever that lies, so that two clones make the same objects
# (docs/decisions/0079). Debuggers still read whole paths.
target_compile_options(lockstep_flags INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
# clang knows other warnings than g++, and warns of what libseccomp's macros are made of.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(lockstep_flags INTERFACE -Wno-unknown-warning-option -Wno-c99-extensions
                         -Wno-missing-field-initializers)
endif()
if(LOCKSTEP_SANITIZE)
  # With a sanitizer, g++ 12 sees uninitialised reads in the library's own <regex>, and writes behind the
  # end of a string's own buffer.
  target_compile_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer
                         -Wno-maybe-uninitialized -Wno-stringop-overflow)
  target_link_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
endif()

# By default g++ collects its garbage as if memory were short, which is a fourteenth of a build's time.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND memory_mib GREATER 7500)
  target_compile_options(lockstep_flags INTERFACE --param=ggc-min-heapsize=1000000 --param=ggc-min-expand=200)
endif()

# A compiler takes 600 MiB at most. ninja counts processors only, so that where they are many and memory is
# short, a pool has as many compilers as fit.
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR compilers "${memory_mib} / 800 + 1")
math(EXPR usual "${processors} + 2")
if(compilers LESS usual)
  set_property(GLOBAL PROPERTY JOB_POOLS compilers=${compilers})
  set(CMAKE_JOB_POOL_COMPILE compilers)
endif()

find_program(LOCKSTEP_MOLD mold)
if(LOCKSTEP_MOLD)
  target_link_options(lockstep_flags INTERFACE -fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(cxxopts REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Gloo QUIET)
find_path(DNNL_INCLUDE_DIR dnnl.h)
find_library(DNNL_LIBRARY dnnl)

set(gloo_state "off (install libgloo-dev): training on several processes is not possible")
if(Gloo_FOUND)
  set(gloo_state "on")
endif()
set(onednn_state "off (install libdnnl-dev): matrix products use the portable kernels")
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  set(onednn_state "on")
endif()
message(STATUS "Gloo: ${gloo_state}")
message(STATUS "oneDNN: ${onednn_state}")
