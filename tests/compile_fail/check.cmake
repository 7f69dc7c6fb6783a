# See kvcodec_refuses() in CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)

function(compile codec flags status_variable text_variable)
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE} "-DKVCODEC_TEST_CODEC=${codec}" ${flags} ${SOURCE}
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${text_variable} "${text}" PARENT_SCOPE)
endfunction()

compile("${CONTROL}" "" status text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the control, ${CONTROL}, does not compile:\n${text}")
endif()
compile("${CODEC}" "${FLAGS}" status text)
if(status EQUAL 0)
  message(FATAL_ERROR "${CODEC} ${FLAGS} compiles")
endif()
if(NOT text MATCHES "${MESSAGE}")
  message(FATAL_ERROR "${CODEC} ${FLAGS} is refused, but not with \"${MESSAGE}\":\n${text}")
endif()
message(STATUS "${CODEC} ${FLAGS}: refused with \"${CMAKE_MATCH_0}\"")
