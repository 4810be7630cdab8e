# Installs the parts of the room memory into an empty prefix, then builds and runs the examples and
# compiles each installed header alone:
#   cmake -DBUILD=… -DEXAMPLE=… -DWORK=… -DGENERATOR=… -DCOMPILER=… -P package_test.cmake
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

function(install component)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component ${component})
endfunction()

set(configure ${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/refused -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)

install(memory)
expect_files(*.a "libskyline_budget.a;libskyline_memory.a")
expect_files(trace*.h "trace.h;trace_replay.h")
build_example(-DCOMPONENTS=memory)
expect_output(own_allocator "direct 1500")
expect_output(own_planner "stacked 2560, portfolio 1536")
expect_refusal("The component formats is not installed." ${configure} -DCOMPONENTS=formats)
expect_refusal("There is no component parsers; known are memory, formats, solvers."
               ${configure} -DCOMPONENTS=memory,parsers)

install(formats)
install(solvers)
build_example(-DCOMPONENTS=formats,solvers)
expect_output(plan_by_solver "mip 1500")
build_example(-DCOMPONENTS=)
run(${CMAKE_COMMAND} --build ${WORK}/build --target each_header)
