# Configures, builds and runs the consumer with kvcodec taken one WAY.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(arguments)
if(WAY STREQUAL "find_package")
  # Installed in one place and used from another: nothing in the package may remember where it was built or installed.
  run(${CMAKE_COMMAND} --install ${KVCODEC_BUILD} --prefix ${WORK}/first)
  file(RENAME ${WORK}/first ${WORK}/prefix)
  file(GLOB_RECURSE installed RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
  foreach(file IN LISTS installed)
    if(NOT file MATCHES "^include/kvcodec/.*\\.(hpp|cuh)$|/cmake/kvcodec/kvcodec-[a-z-]*\\.cmake$")
      message(FATAL_ERROR "installed, but no header and no package file: ${file}")
    endif()
    file(READ ${WORK}/prefix/${file} text)
    foreach(place ${WORK} ${KVCODEC_BUILD} ${KVCODEC_SOURCE})
      string(FIND "${text}" "${place}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${file} names ${place}")
      endif()
    endforeach()
  endforeach()
  set(arguments -DCMAKE_PREFIX_PATH=${WORK}/prefix)
endif()

# As users build: the first way optimised, whose warnings differ, the others as one debugs.
set(build_type Debug)
if(WAY STREQUAL "find_package")
  set(build_type Release)
endif()
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${build_type} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  -DKVCODEC_WAY=${WAY} -DKVCODEC_SOURCE=${KVCODEC_SOURCE} -DKVCODEC_WANTED_VERSION=${VERSION} -DEIGEN=${EIGEN} ${arguments})
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program consumer consumer_plain)
  run(${WORK}/build/${program})
endforeach()

# What the compiler was really told: the consumer's own flags and nothing of ours.
if(EXISTS ${WORK}/build/compile_commands.json)
  file(READ ${WORK}/build/compile_commands.json commands)
  if(commands MATCHES " (-march|-mavx|-mfma|-DKVCODEC|-DGTEST)")
    message(FATAL_ERROR "leaked into the consumer's command line: ${CMAKE_MATCH_1}")
  endif()
  string(REGEX MATCHALL "\"command\": \"[^\n]*" lines "${commands}")
  list(LENGTH lines count)
  if(count GREATER 3)  # main.cpp twice, and eigen.cpp
    message(FATAL_ERROR "${count} files are compiled: some are not the consumer's")
  endif()
endif()
