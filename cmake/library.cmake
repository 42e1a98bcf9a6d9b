# The standard library's headers are read once and kept (docs/decisions/0052): they are most of what
# a small source costs.
#
# The compiler reads a precompiled header only with the flags that it was made with. So each set of
# flags has its own, made when the first target with these flags is built; a source with flags of its
# own reads its headers itself.
option(LOCKSTEP_PRECOMPILED "Read the standard library's headers once; OFF is for clang-tidy" ON)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(LOCKSTEP_PRECOMPILED OFF)
endif()

set(LOCKSTEP_LIBRARY_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory>
    <numeric> <optional> <span> <sstream> <stdexcept> <string> <string_view> <utility> <vector>)
# What is compiled quickly works with files, streams and JSON rather than with numbers. Only a release
# build compiles some of it quickly: any other reads these everywhere, so that it misses no header that
# release has.
set(LOCKSTEP_QUICK_HEADERS <chrono> <filesystem> <fstream> <iostream> <nlohmann/json.hpp> <set>)

# Notes that a target's sources include much of the library.
function(lockstep_reads_library target)
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_READ_LIBRARY ${target})
endfunction()

# To be called when all targets and flags are known.
function(lockstep_precompile_library)
  if(NOT LOCKSTEP_PRECOMPILED)
    return()
  endif()
  get_property(targets GLOBAL PROPERTY LOCKSTEP_READ_LIBRARY)
  list(REMOVE_DUPLICATES targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(shared ${target} POSITION_INDEPENDENT_CODE)
    get_target_property(reads_others ${target} PRECOMPILE_HEADERS_REUSE_FROM)   # a test: tests/CMakeLists.txt
    if(shared OR reads_others OR type MATCHES "SHARED|MODULE")
      continue()
    endif()
    lockstep_flags_of(${target} flags)
    string(REGEX REPLACE "[^A-Za-z0-9-]" "" name "library${flags}")
    if(NOT TARGET ${name})
      lockstep_precompiled_library(${name} "${flags}")
    endif()
    target_precompile_headers(${target} REUSE_FROM ${name})
  endforeach()
endfunction()

# A target's own flags in one string, without warnings. Its sources with flags of their own are marked
# as those that cannot use a precompiled header.
function(lockstep_flags_of target result)
  get_target_property(flags ${target} COMPILE_OPTIONS)
  if(NOT flags)
    set(flags "")
  endif()
  list(FILTER flags EXCLUDE REGEX "^-W")
  string(JOIN " " flags ${flags})
  set(quickly "")
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(quickly -O1)
  endif()
  string(REPLACE "${LOCKSTEP_QUICKLY}" "${quickly}" flags "${flags}")
  set(${result} "${flags}" PARENT_SCOPE)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "^\\$<")
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    get_source_file_property(own ${source} TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    if(own)
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

function(lockstep_precompiled_library name flags)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/library/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/library/${name}.cpp)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  target_compile_options(${name} PRIVATE ${flags})
  target_link_libraries(${name} PRIVATE lockstep_flags)
  set(headers ${LOCKSTEP_LIBRARY_HEADERS})
  if(flags OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    list(APPEND headers ${LOCKSTEP_QUICK_HEADERS})
    target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
  endif()
  target_precompile_headers(${name} PRIVATE ${headers})
endfunction()
