# Configures made_up_tree with one edge between rooms and checks what came of it.
file(REMOVE_RECURSE ${scratch})
execute_process(COMMAND ${CMAKE_COMMAND} -G ${generator} -S ${tree} -B ${scratch} -D edge=${edge}
                        -D rooms=${rooms}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")

if(edge STREQUAL "downward")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "a downward edge must configure, but: ${output}")
  endif()
  return()
endif()

set(told_upward "engine/base \\(floor 0\\) may not use engine/comm")
set(told_sideways "engine/strand \\(floor 1\\) may not use engine/trace")
set(told_unknown "Room 'cellar' has no floor")
if(result EQUAL 0)
  message(FATAL_ERROR "the configuration went through with an edge that goes ${edge}")
endif()
if(NOT output MATCHES "${told_${edge}}")
  message(FATAL_ERROR "expected '${told_${edge}}' in: ${output}")
endif()
