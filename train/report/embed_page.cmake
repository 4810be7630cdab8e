# Embeds the files of the pages into page_files.cpp, so that the program needs no file beside itself.
# A change of any of them configures again.

# Concatenates files of this folder into a variable.
function(read_page_files variable)
  set(all "")
  foreach(name ${ARGN})
    set(file ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(APPEND all "${text}\n")
  endforeach()
  set(${variable} "${all}" PARENT_SCOPE)
endfunction()

# Adds the constant kNAMEPage: a body of one or more files, style sheets, scripts of the folder script.
set(PAGES "")
function(add_page name body)
  cmake_parse_arguments(PARSE_ARGV 2 page "" "" "STYLE;SCRIPT")
  list(TRANSFORM page_SCRIPT REPLACE "(.+)" "script/\\1.js")
  read_page_files(html ${body})
  read_page_files(css ${page_STYLE})
  read_page_files(js ${page_SCRIPT})
  string(APPEND PAGES "extern const PageFiles k${name}Page = {R\"__page__(${html})__page__\",
                                   R\"__page__(${css})__page__\",
                                   R\"__page__(${js})__page__\"};\n")
  set(PAGES "${PAGES}" PARENT_SCOPE)
endfunction()

read_page_files(PAGE_SHELL shell.html)
add_page(Report report.html STYLE page.css order.css SCRIPT format step view tooltip legend svg
  chart step_chart memory_chart rank_lane plan_chart series steps_chart cursor_chart curve_chart
  losses make_table tables order_chart order_pair order_section budget folded_table story
  block_panel fullest strategies recycling page)
add_page(Explanation explanation.html STYLE page.css explanation.css SCRIPT format tooltip svg chart
  make_table explanation explanation_chart explanation_page)
add_page(Pgmo pgmo.html STYLE page.css pgmo.css SCRIPT format make_table pgmo_page)
add_page(Olla "olla.html;order.html" STYLE page.css order.css olla.css SCRIPT format tooltip svg chart
  cursor_chart make_table legend order_chart order_pair olla_page)
add_page(Order order.html STYLE page.css order.css SCRIPT format tooltip svg chart cursor_chart
  make_table legend order_chart order_pair order_section order_page)
add_page(Lanes lanes.html STYLE page.css lanes.css SCRIPT format make_table graph_picture lanes_page)
add_page(Mxnet mxnet.html STYLE page.css lanes.css SCRIPT format make_table graph_picture mxnet_page)
add_page(Together together.html STYLE page.css SCRIPT format tooltip legend svg chart cursor_chart
  make_table strategies together_page)
add_page(Ranks ranks.html STYLE page.css ranks.css SCRIPT format tooltip legend svg chart
  cursor_chart make_table ranks_page)
add_page(Confusion confusion.html STYLE page.css confusion.css SCRIPT format make_table confusion_page)
add_page(Runs runs.html STYLE page.css runs.css SCRIPT format step view tooltip legend svg chart
  step_chart plan_chart make_table folded_table run_chart runs_page)

configure_file(${CMAKE_CURRENT_LIST_DIR}/page_files.cpp.in
               ${CMAKE_CURRENT_BINARY_DIR}/report/page_files.cpp @ONLY)
