# Puts the page's files into page.cpp, so that the program needs no file beside itself. Configuring
# again follows from any change of them.
set(page_files page.html page.css)
foreach(name format step view tooltip legend chart step_chart memory_chart plan_chart loss_chart tables page)
  list(APPEND page_files script/${name}.js)
endforeach()
list(TRANSFORM page_files PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_files})

list(POP_FRONT page_files template style)
file(READ ${template} PAGE_TEMPLATE)
file(READ ${style} PAGE_STYLE)
set(PAGE_SCRIPT "")
foreach(script ${page_files})
  file(READ ${script} text)
  string(APPEND PAGE_SCRIPT "${text}\n")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/page.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/report/page.cpp @ONLY)
