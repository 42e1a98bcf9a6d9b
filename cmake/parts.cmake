# Parts: what students build. Each part is one translation unit, solutions/NN_lesson/part.cpp, and
# one object library part_<name>. Executables list the objects they want; no archive holds a part,
# so none is ever pulled in silently.

# lockstep_part(06_all_reduce/ring_all_reduce USES collectives)
function(lockstep_part address)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  get_filename_component(name ${address} NAME)
  add_library(part_${name} OBJECT ${CMAKE_SOURCE_DIR}/solutions/${address}.cpp)
  foreach(room IN LISTS ARG_USES)
    lockstep_target_of(${room} target)
    target_link_libraries(part_${name} PUBLIC ${target})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PARTS ${name})
endfunction()

# Links the reference objects of the named parts into an executable.
function(lockstep_use_parts target)
  foreach(name IN LISTS ARGN)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:part_${name}>)
  endforeach()
endfunction()
