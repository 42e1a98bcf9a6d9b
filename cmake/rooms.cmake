# Rooms: one folder of engine/ = one library = one namespace. A room may use rooms on lower floors
# only; the configuration stops on an upward or sideways edge. tests/house checks every #include.

set(LOCKSTEP_FLOORS   # bottom first; rooms of one floor do not know each other
    "base" "strand trace" "sim" "tensor" "autograd" "nn" "optim" "data" "comm" "collectives replicas"
    "parallel/data_parallel parallel/ddp" "checkpoint" "launch" "plan" "train" "apps")

function(lockstep_floor_of room result)
  set(floor 0)
  foreach(rooms IN LISTS LOCKSTEP_FLOORS)
    separate_arguments(names UNIX_COMMAND "${rooms}")
    if(room IN_LIST names)
      set(${result} ${floor} PARENT_SCOPE)
      return()
    endif()
    math(EXPR floor "${floor}+1")
  endforeach()
  message(FATAL_ERROR "Room '${room}' has no floor: add it to LOCKSTEP_FLOORS in cmake/rooms.cmake")
endfunction()

function(lockstep_target_of room result)
  string(REPLACE "/" "_" name "${room}")
  string(REPLACE "parallel_" "" name "${name}")
  set(${result} "lockstep_${name}" PARENT_SCOPE)
endfunction()

# lockstep_room(tensor SOURCES a.cpp b.cpp USES base sim LIBRARIES ZLIB::ZLIB)
# A room without sources is an interface library.
function(lockstep_room room)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  lockstep_floor_of(${room} floor)
  lockstep_target_of(${room} target)
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(reach PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(reach INTERFACE)
  endif()
  target_link_libraries(${target} ${reach} lockstep_flags)
  set(below "")
  foreach(used IN LISTS ARG_USES)
    lockstep_floor_of(${used} used_floor)
    if(NOT used_floor LESS floor)
      message(FATAL_ERROR "engine/${room} (floor ${floor}) may not use engine/${used} (floor ${used_floor}): "
              "rooms use lower floors only, see docs/design.md")
    endif()
    lockstep_target_of(${used} used_target)
    target_link_libraries(${target} ${reach} ${used_target})
    get_property(used_below GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${used_target})
    list(APPEND below ${used_below})
  endforeach()
  list(REMOVE_DUPLICATES below)
  # The room and all below it: what a player links, see lockstep_player.
  set_property(GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${target} ${target} ${below})
  if(ARG_LIBRARIES)
    target_link_libraries(${target} ${reach} ${ARG_LIBRARIES})
  endif()
endfunction()
