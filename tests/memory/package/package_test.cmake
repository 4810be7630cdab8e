# Installs the room memory into an empty prefix, then builds and runs the example against it:
#   cmake -DBUILD=… -DEXAMPLE=… -DWORK=… -DGENERATOR=… -DCOMPILER=… -P package_test.cmake
file(REMOVE_RECURSE ${WORK})

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(install component)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component ${component})
endfunction()

function(build_example)
  run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G ${GENERATOR}
      -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
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

install(memory)
expect_files(*.a "libskyline_budget.a;libskyline_memory.a")
expect_files(trace*.h "trace.h;trace_builder.h;trace_events.h;trace_replay.h")
build_example()
expect_output(own_allocator "direct 1500")
expect_output(own_planner "stacked 2560, portfolio 1536")

install(formats)
install(solvers)
build_example()
expect_output(plan_by_solver "mip 1500")
