# The symbols that objects A and B, built for different instruction sets, both define and the linker would merge. None
# may be code of a codec. What stands outside the instruction set's namespace on purpose, since it goes between units built
# for different ones, carries no arithmetic; it is listed by name here, so that nothing joins it unseen.
cmake_minimum_required(VERSION 3.25)

set(harmless "^kvcodec::(Error::|EncodeResult::|Result<|error\\(|Descriptor::|ConstRows::|Rows::|ConstPlanes::|Planes::|to_string\\(|operator==\\()|std::[^(]*kvcodec::Descriptor")

set(ENV{LC_ALL} C)  # what sort and comm agree on
foreach(object A B)
  execute_process(COMMAND ${NM} --defined-only -C ${${object}} COMMAND sed -nE "s/^[0-9a-f]+ [WVu] //p" COMMAND sort -u
    OUTPUT_FILE shared_symbols_${object} RESULTS_VARIABLE status COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND grep -cE "kvcodec::[a-z0-9]+_x86_64" shared_symbols_${object} OUTPUT_VARIABLE count)
  if(NOT count GREATER 100)
    message(FATAL_ERROR "no codec symbol in ${${object}}: this test sees nothing")
  endif()
  message(STATUS "${object}: ${count} weak symbols of codecs")
endforeach()

execute_process(COMMAND comm -12 shared_symbols_A shared_symbols_B COMMAND grep "kvcodec::" OUTPUT_VARIABLE shared)
string(REGEX REPLACE "[[;]" "(" shared "${shared}")  # a lone bracket or a semicolon would change the list's items
string(REGEX REPLACE "[]]" ")" shared "${shared}")
string(REPLACE "\n" ";" shared "${shared}")
set(bad)
foreach(symbol IN LISTS shared)
  if(symbol MATCHES "${harmless}" OR symbol STREQUAL "")
    message(STATUS "shared, harmless: ${symbol}")
  else()
    message(STATUS "shared: ${symbol}")
    list(APPEND bad "${symbol}")
  endif()
endforeach()
if(bad)
  list(LENGTH bad count)
  message(FATAL_ERROR "${count} symbols of kvcodec are shared by objects built for different instruction sets")
endif()
