# Installs the program into an empty prefix and uses it from there:
#   cmake -DBUILD=… -DWORK=… -P install_test.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../memory/package/run.cmake)

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component skyline)
expect_files(bin/* skyline)
expect_files(share/bash-completion/completions/* skyline)
expect_files(share/zsh/site-functions/* _skyline)
file(GLOB modules ${WORK}/prefix/lib*/skyline/* ${WORK}/prefix/lib/*/skyline/*)
set(ranks 1)
if(modules MATCHES skyline_mpi)
  find_program(MPIRUN mpirun)
  if(MPIRUN)
    set(ranks 2)
  endif()
endif()
run(${CMAKE_COMMAND} -E chdir ${WORK} ${CMAKE_COMMAND} -E env PATH=${WORK}/prefix/bin:$ENV{PATH}
    skyline train --model mlp --images 64 --batch-size 16 --steps 2 --ranks ${ranks} --output run)
if(NOT output MATCHES "2 steps in ")
  message(FATAL_ERROR "the installed program printed: ${output}")
endif()
