# Compiler flags as one interface target, the linker, and the libraries found or missed.
# A library that is missing turns a backend off; it never turns an error into silence: the
# summary at the end of the configuration says what is off.

add_library(lockstep_flags INTERFACE)
target_compile_features(lockstep_flags INTERFACE cxx_std_20)
target_compile_options(lockstep_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wno-sign-conversion $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
target_include_directories(lockstep_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(LOCKSTEP_SANITIZE)
  # g++ 12 sees uninitialised reads in the library's own <regex> when a sanitizer is on.
  target_compile_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer
                         -Wno-maybe-uninitialized)
  target_link_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
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
