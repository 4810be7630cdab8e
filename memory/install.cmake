# What `cmake --install` leaves of this room: static libraries, their headers and a CMake package.
#   cmake --install BUILD --prefix PREFIX [--component memory|formats|solvers]
# Headers go to include/skyline/memory/…, and the targets put include/skyline on the include path:
# programs write #include "memory/trace.h", as this repository does.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(headers_folder ${CMAKE_INSTALL_INCLUDEDIR}/skyline/memory)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Skyline)

# install_part(COMPONENT TARGET…): skyline_NAME becomes Skyline::NAME, in a file for the component.
function(install_part component)
  foreach(target ${ARGN})
    string(REPLACE skyline_ "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    add_library(Skyline::${name} ALIAS ${target})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} INTERFACE
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/skyline>)
  endforeach()
  install(TARGETS ${ARGN} EXPORT Skyline_${component}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT Skyline_${component} NAMESPACE Skyline:: FILE ${component}.cmake
          DESTINATION ${package_folder} COMPONENT ${component})
endfunction()

install_part(memory skyline_memory skyline_budget)
install_part(formats skyline_formats)
install_part(solvers skyline_solvers)

install(DIRECTORY . DESTINATION ${headers_folder} COMPONENT memory
        FILES_MATCHING PATTERN *.h PATTERN formats EXCLUDE PATTERN solvers EXCLUDE
        PATTERN python EXCLUDE)
install(DIRECTORY formats DESTINATION ${headers_folder} COMPONENT formats
        FILES_MATCHING PATTERN *.h)
install(DIRECTORY solvers DESTINATION ${headers_folder} COMPONENT solvers
        FILES_MATCHING PATTERN *.h)
foreach(folder budget order planners)
  install(DIRECTORY ${folder}/solvers DESTINATION ${headers_folder}/${folder} COMPONENT solvers
          FILES_MATCHING PATTERN *.h)
endforeach()

configure_package_config_file(SkylineConfig.cmake.in SkylineConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(SkylineConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/SkylineConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/SkylineConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT memory)
