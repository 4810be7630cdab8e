# Embeds the training graphs of graphs/ into network_graphs.cpp, so that the program needs no file
# beside itself. A change of any of them configures again.
set(networks alexnet-1 alexnet-32 alexnet-128 vgg11-1 vgg11-32 vgg16-64 resnet18-1 resnet18-32
  resnet50-1 resnet50-32 squeezenet1_0-1 squeezenet1_0-32 googlenet-1 googlenet-32 mobilenet_v2-1
  mobilenet_v2-32 bert-1 opt-125m-1)
set(NETWORK_GRAPHS "")
foreach(network ${networks})
  set(file ${CMAKE_CURRENT_LIST_DIR}/graphs/${network}.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND NETWORK_GRAPHS "    R\"__graph__(${text})__graph__\",\n")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/network_graphs.cpp.in
               ${CMAKE_CURRENT_BINARY_DIR}/lab/olla/network_graphs.cpp @ONLY)
