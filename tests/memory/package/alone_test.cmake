# Configures and installs the room memory alone with the component memory, which needs libfmt and threads
# only:
#   cmake -DSOURCE=… -DEXAMPLE=… -DWORK=… -DGENERATOR=… -DCOMPILER=… -P alone_test.cmake
# Packages of the other components are hidden where CMake can hide them; the cache shows that nothing
# has looked for their libraries, and the preprocessor that no source includes their headers or another
# room's. Nothing is compiled a second time: package_test.cmake links all objects of these libraries.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(hidden)
foreach(package nlohmann_json ZLIB CLI11 OpenMP GTest benchmark Python pybind11 CUDAToolkit)
  list(APPEND hidden -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
set(configure ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/alone -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DSKYLINE_MEMORY_ALONE=ON ${hidden})

expect_refusal("SKYLINE_COMPONENTS: unknown component parsers, known are memory, formats, solvers"
               ${configure} -DSKYLINE_COMPONENTS=parsers)
# Objects and libraries of this build type hold preprocessed text.
run(${configure} -DSKYLINE_COMPONENTS=memory -DSKYLINE_PRECOMPILE=OFF -DCMAKE_BUILD_TYPE=TEXT
    -DCMAKE_CXX_FLAGS_TEXT=-E
    "-DCMAKE_CXX_CREATE_SHARED_LIBRARY=<CMAKE_COMMAND> -E cat <OBJECTS> > <TARGET>")
file(STRINGS ${WORK}/alone/CMakeCache.txt sought REGEX "^(CBC|CLP|Z3|UTFCPP|DNNL|nlohmann)[A-Za-z_]*:")
if(sought)
  message(FATAL_ERROR "the component memory looked for ${sought}")
endif()
run(${CMAKE_COMMAND} --build ${WORK}/alone)
file(GLOB_RECURSE libraries ${WORK}/alone/*.a ${WORK}/alone/*.so)
foreach(folder SOURCE WORK)
  string(REGEX REPLACE "([][+.*()^$?])" "\\\\\\1" in_${folder} ${${folder}})
endforeach()
set(hidden_header "/(coin|nlohmann|oneapi|CLI|pybind11)/|/(z3[+_a-z0-9]*|utf8|zlib|omp|cuda_runtime)[.]h$")
foreach(library ${libraries})
  file(STRINGS ${library} included REGEX "^# 1 \"/")
  list(TRANSFORM included REPLACE "^# 1 \"([^\"]*).*" "\\1")
  set(others ${included})
  list(FILTER included INCLUDE REGEX "^${in_SOURCE}/memory/")
  list(FILTER others EXCLUDE REGEX "^(${in_SOURCE}/memory|${in_WORK}/alone)/")
  list(FILTER others INCLUDE REGEX "^${in_SOURCE}/|${hidden_header}")
  if(others OR NOT included)
    list(REMOVE_DUPLICATES others)
    message(FATAL_ERROR "${library} includes ${others}")
  endif()
endforeach()
run(${CMAKE_COMMAND} --install ${WORK}/alone --prefix ${WORK}/prefix)
expect_files(*.a "libskyline_budget.a;libskyline_memory.a")
run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCOMPONENTS=memory ${hidden})
