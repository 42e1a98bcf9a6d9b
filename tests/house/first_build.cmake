# What ./lab start builds, compared with the list of what it may build. The list is closed, so that the
# first build does not grow with the house.
execute_process(COMMAND sh -euc ". setup/start.sh; first_targets \"$(first_exercise)\""
                WORKING_DIRECTORY ${root} OUTPUT_VARIABLE asked COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" asked "${asked}")
execute_process(COMMAND ${ninja} -C ${build} -t commands ${asked}
                OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " -o [^ ]*CMakeFiles/[^/ ]+\\.dir/" objects "${commands}")
list(TRANSFORM objects REPLACE ".*CMakeFiles/([^/]+)\\.dir/" "\\1")
list(REMOVE_DUPLICATES objects)
if(NOT objects)
  message(FATAL_ERROR "ninja names no object that ./lab start builds: ${commands}")
endif()
file(STRINGS ${list} listed REGEX "^[^#]")

set(unlisted ${objects})
list(REMOVE_ITEM unlisted ${listed})
set(stale ${listed})
list(REMOVE_ITEM stale ${objects})
list(SORT unlisted)
list(SORT stale)
string(JOIN "\n  " unlisted ${unlisted})
string(JOIN "\n  " stale ${stale})
cmake_path(RELATIVE_PATH list BASE_DIRECTORY ${root} OUTPUT_VARIABLE shown)
if(unlisted)
  message("${shown} does not list these targets, which ./lab start builds. Keep them out of it, or add "
          "them in a commit that says why:\n  ${unlisted}")
endif()
if(stale)
  message("${shown} lists these targets, which ./lab start does not build any more:\n  ${stale}")
endif()
if(unlisted OR stale)
  message(FATAL_ERROR "the first build is not what ${shown} says")
endif()
