# Configures, builds and installs the room memory alone with the component memory, which needs libfmt
# and threads only:
#   cmake -DSOURCE=… -DEXAMPLE=… -DWORK=… -DGENERATOR=… -DCOMPILER=… -P alone_test.cmake
# Packages of the other components are hidden where CMake can hide them; the cache shows that nothing
# has looked for their libraries.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(hidden)
foreach(package nlohmann_json ZLIB CLI11 OpenMP GTest benchmark Python pybind11 CUDAToolkit)
  list(APPEND hidden -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
set(configure ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/alone -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=None -DSKYLINE_MEMORY_ALONE=ON ${hidden})

expect_refusal("SKYLINE_COMPONENTS: unknown component parsers, known are memory, formats, solvers"
               ${configure} -DSKYLINE_COMPONENTS=parsers)
run(${configure} -DSKYLINE_COMPONENTS=memory)
file(STRINGS ${WORK}/alone/CMakeCache.txt sought REGEX "^(CBC|CLP|Z3|UTFCPP|DNNL|nlohmann)[A-Za-z_]*:")
if(sought)
  message(FATAL_ERROR "the component memory looked for ${sought}")
endif()
run(${CMAKE_COMMAND} --build ${WORK}/alone)
run(${CMAKE_COMMAND} --install ${WORK}/alone --prefix ${WORK}/prefix)
expect_files(*.a "libskyline_budget.a;libskyline_memory.a")
build_example(-DCOMPONENTS=memory ${hidden})
expect_output(own_allocator "direct 1500")
