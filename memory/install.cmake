# What `cmake --install` leaves of this room: static libraries, the headers of its door and a CMake
# package.
#   cmake --install BUILD --prefix PREFIX [--component memory|formats|solvers]
# Headers go to include/skyline/memory/…, and the targets put include/skyline on the include path:
# programs include memory/…, as this repository does. A header of the door includes no other than
# those of the door; tests/memory/package compiles each from an empty prefix.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(headers_folder ${CMAKE_INSTALL_INCLUDEDIR}/skyline/memory)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Skyline)

# install_part(COMPONENT TARGETS TARGET… HEADERS HEADER…): skyline_NAME becomes Skyline::NAME, in a file
# for the component.
function(install_part component)
  cmake_parse_arguments(PARSE_ARGV 1 PART "" "" "TARGETS;HEADERS")
  foreach(target ${PART_TARGETS})
    string(REPLACE skyline_ "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    add_library(Skyline::${name} ALIAS ${target})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} INTERFACE
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/skyline>)
  endforeach()
  install(TARGETS ${PART_TARGETS} EXPORT Skyline_${component}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT Skyline_${component} NAMESPACE Skyline:: FILE ${component}.cmake
          DESTINATION ${package_folder} COMPONENT ${component})
  foreach(header ${PART_HEADERS})
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${header} DESTINATION ${headers_folder}/${folder} COMPONENT ${component})
  endforeach()
endfunction()

install_part(memory TARGETS skyline_memory skyline_budget HEADERS
  alignment.h allocator.h errors.h plan.h step_graph.h tag.h trace.h validator.h
  device/device.h device/devices.h device/out_of_memory.h
  allocators/account.h allocators/allocators.h
  adaptors/adaptor.h adaptors/checking_adaptors.h adaptors/observing_adaptors.h
  planners/planner.h planners/registry.h
  session/session.h session/session_event.h
  order/certificate.h order/order.h
  budget/budget_curve.h budget/budget_problem.h
  replay/live_events.h replay/trace_replay.h)
if(SKYLINE_HAS_formats)
  install_part(formats TARGETS skyline_formats HEADERS
    formats/graph_file.h formats/open_events.h formats/order_file.h formats/sink.h
    formats/csv/trace_csv.h)
endif()
if(SKYLINE_HAS_solvers)
  install_part(solvers TARGETS skyline_solvers HEADERS solvers/solvers.h)
endif()

configure_package_config_file(SkylineConfig.cmake.in SkylineConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(SkylineConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/SkylineConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/SkylineConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT memory)
