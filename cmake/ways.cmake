# Ways to train. A way is declared by a line of CMake and is otherwise its own files:
#
#   lockstep_way(pipeline SOURCES "ways/pipeline.cpp strategies/pipeline.cpp" USES parallel/pipeline CALLS run_stage)
#
# SOURCES, USES and CALLS as in lockstep_room. The way is the library lockstep_way_<stem>, which tests
# name way/<stem> among the rooms they use. BASIC: in every trainer; any other is in the program
# train-<stem>, which is built when it is first asked for, and in train-all. Two tables are made from these
# lines: of declarations (`Way <stem>_way()`, in ways/<stem>.hpp), which every reader of the command
# line has, and for each program of makers (`const WayMaker& <stem>_maker()`).

function(lockstep_way stem)
  cmake_parse_arguments(ARG "BASIC" "" "SOURCES;USES;CALLS" ${ARGN})
  set(target lockstep_way_${stem})
  add_library(${target} STATIC)
  lockstep_sources(${target} ${ARG_SOURCES})
  target_compile_options(${target} PRIVATE ${LOCKSTEP_QUICKLY})
  set(below "")
  foreach(used train ${ARG_USES})
    lockstep_target_of(${used} used_target)
    target_link_libraries(${target} PUBLIC ${used_target})
    get_property(used_below GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${used_target})
    list(APPEND below ${used_below})
  endforeach()
  list(REMOVE_DUPLICATES below)
  set_property(GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${target} ${target} ${below})
  set_property(GLOBAL PROPERTY LOCKSTEP_CALLS_OF_${target} ${ARG_CALLS})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  # A way of a test may be one file, without a header.
  set(header "")
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/ways/${stem}.hpp)
    set(header ${folder}/ways/${stem}.hpp)
  endif()
  set_property(GLOBAL PROPERTY LOCKSTEP_HEADER_OF_WAY_${stem} ${header})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_WAYS ${stem})
  if(ARG_BASIC)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_BASIC_WAYS ${stem})
  endif()
  # Of a test: its declaration is in a table for its own program alone.
  get_property(closed GLOBAL PROPERTY LOCKSTEP_DECLARED_WAYS)
  if(closed)
    get_property(basic GLOBAL PROPERTY LOCKSTEP_BASIC_WAYS)
    lockstep_trainer(train-${stem} WAYS ${basic} ${stem})
    set(table ${CMAKE_BINARY_DIR}/ways/declared_with_${stem}.cpp)
    lockstep_table_of_declarations(${table} ${closed} ${stem})
    target_sources(train-${stem} PRIVATE ${table})
  endif()
endfunction()

# The source of the table of declarations, in the order of the lines.
function(lockstep_table_of_declarations file)
  get_property(basic GLOBAL PROPERTY LOCKSTEP_BASIC_WAYS)
  set(includes "#include \"engine/train/way.hpp\"\n")
  set(declared "")
  set(entries "")
  foreach(stem IN LISTS ARGN)
    get_property(header GLOBAL PROPERTY LOCKSTEP_HEADER_OF_WAY_${stem})
    if(header)
      string(APPEND includes "#include \"${header}\"\n")
    else()
      string(APPEND declared "Way ${stem}_way();\n")
    endif()
    if(stem IN_LIST basic)
      string(APPEND entries "      always(${stem}_way()),\n")
    else()
      string(APPEND entries "      ${stem}_way(),\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "// The ways to train, from the lines lockstep_way(…).
${includes}
namespace lockstep::train {

${declared}
const std::vector<Way>& declared_ways() {
  const auto always = [](Way way) {
    way.built = Way::Built::always;
    return way;
  };
  static const std::vector<Way> all{
${entries}  };
  return all;
}

}  // namespace lockstep::train
")
endfunction()

# The library lockstep_ways: the declarations, and what reads a command line by them. The table is a
# unit of its own, so that a program with another table takes its own.
function(lockstep_declared_ways)
  get_property(ways GLOBAL PROPERTY LOCKSTEP_WAYS)
  set_property(GLOBAL PROPERTY LOCKSTEP_DECLARED_WAYS ${ways})
  set(table ${CMAKE_BINARY_DIR}/ways/declared.cpp)
  lockstep_table_of_declarations(${table} ${ways})
  add_library(lockstep_ways STATIC)
  lockstep_sources(lockstep_ways ${CMAKE_CURRENT_SOURCE_DIR}/way.cpp ${table})
  target_compile_options(lockstep_ways PRIVATE ${LOCKSTEP_QUICKLY})
  target_link_libraries(lockstep_ways PUBLIC lockstep_base)
endfunction()

# Gives an executable makers of the named ways, and what they are made of.
function(lockstep_use_ways target)
  set(declared "")
  set(entries "")
  foreach(stem IN LISTS ARGN)
    string(APPEND declared "const WayMaker& ${stem}_maker();\n")
    string(APPEND entries "  if (stem == \"${stem}\") return &${stem}_maker();\n")
    target_link_libraries(${target} PRIVATE lockstep_way_${stem})
  endforeach()
  set(table ${CMAKE_BINARY_DIR}/ways/makers_of_${target}.cpp)
  file(CONFIGURE OUTPUT ${table} CONTENT "// The ways to train that ${target} is linked with.
#include <string_view>

namespace lockstep::train {

class WayMaker;
${declared}
const WayMaker* find_maker(std::string_view stem);
const WayMaker* find_maker(std::string_view stem) {
${entries}  return nullptr;
}

}  // namespace lockstep::train
")
  target_sources(${target} PRIVATE ${table})
endfunction()
