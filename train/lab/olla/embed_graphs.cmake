# Embeds the training graphs of graphs/ and the paper's figures into network_graphs.cpp, so that the
# program needs no file beside itself. A change of any of them configures again.
function(read_embedded variable name)
  set(file ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

read_embedded(OLLA_FIGURE_3 figures/figure-3.json)
read_embedded(OLLA_FIGURE_4 figures/figure-4.csv)
set(networks alexnet-1 alexnet-32 alexnet-128 vgg11-1 vgg11-32 vgg16-64 resnet18-1 resnet18-32
  resnet50-1 resnet50-32 squeezenet1_0-1 squeezenet1_0-32 googlenet-1 googlenet-32 mobilenet_v2-1
  mobilenet_v2-32 bert-1 opt-125m-1)
set(NETWORK_GRAPHS "")
foreach(network ${networks})
  read_embedded(text graphs/${network}.json)
  string(APPEND NETWORK_GRAPHS "    R\"__graph__(${text})__graph__\",\n")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/network_graphs.cpp.in
               ${CMAKE_CURRENT_BINARY_DIR}/lab/olla/network_graphs.cpp @ONLY)
