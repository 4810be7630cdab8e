# What the tests of the package share. WORK is theirs alone.
file(REMOVE_RECURSE ${WORK})

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Runs a command that must fail and say `expected`, however CMake breaks its lines.
function(expect_refusal expected)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  string(REGEX REPLACE "[ \n]+" " " said "${errors}")
  string(FIND "${said}" "${expected}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}, expected a failure with '${expected}'\n${errors}")
  endif()
endfunction()

function(build_example)
  run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G ${GENERATOR}
      -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK}/build)
endfunction()

function(expect_output program expected)
  run(${WORK}/build/${program})
  if(NOT output STREQUAL "${expected}\n")
    message(FATAL_ERROR "${program} printed '${output}', expected '${expected}'")
  endif()
endfunction()

function(expect_files pattern expected)
  file(GLOB_RECURSE found RELATIVE ${WORK}/prefix ${WORK}/prefix/${pattern})
  list(TRANSFORM found REPLACE ".*/" "")
  list(SORT found)
  if(NOT found STREQUAL "${expected}")
    message(FATAL_ERROR "${pattern}: found '${found}', expected '${expected}'")
  endif()
endfunction()
