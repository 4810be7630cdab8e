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

read_page_files(PAGE_SHELL shell.html)

read_page_files(REPORT_BODY report.html)
read_page_files(REPORT_STYLE page.css order.css)
read_page_files(REPORT_SCRIPT script/format.js script/step.js script/view.js script/tooltip.js
  script/legend.js script/svg.js script/chart.js script/step_chart.js script/memory_chart.js
  script/rank_lane.js script/plan_chart.js script/series.js script/steps_chart.js script/cursor_chart.js
  script/curve_chart.js script/losses.js
  script/make_table.js script/tables.js script/order_chart.js script/order_pair.js script/order_section.js
  script/budget.js script/folded_table.js script/story.js script/block_panel.js script/fullest.js script/strategies.js
  script/recycling.js script/page.js)

read_page_files(EXPLANATION_BODY explanation.html)
read_page_files(EXPLANATION_STYLE page.css explanation.css)
read_page_files(EXPLANATION_SCRIPT script/format.js script/tooltip.js script/svg.js script/chart.js
  script/make_table.js script/explanation.js script/explanation_chart.js script/explanation_page.js)

read_page_files(PGMO_BODY pgmo.html)
read_page_files(PGMO_STYLE page.css pgmo.css)
read_page_files(PGMO_SCRIPT script/format.js script/make_table.js script/pgmo_page.js)

read_page_files(OLLA_BODY olla.html)
read_page_files(OLLA_STYLE page.css order.css olla.css)
read_page_files(OLLA_SCRIPT script/format.js script/tooltip.js script/svg.js script/chart.js
  script/make_table.js script/legend.js script/order_chart.js script/order_pair.js script/olla_page.js)

read_page_files(LANES_BODY lanes.html)
read_page_files(LANES_STYLE page.css lanes.css)
read_page_files(LANES_SCRIPT script/format.js script/make_table.js script/lanes_page.js)

read_page_files(RANKS_BODY ranks.html)
read_page_files(RANKS_STYLE page.css ranks.css)
read_page_files(RANKS_SCRIPT script/format.js script/tooltip.js script/legend.js script/svg.js
  script/chart.js script/cursor_chart.js script/make_table.js script/ranks_page.js)

read_page_files(RUNS_BODY runs.html)
read_page_files(RUNS_STYLE page.css runs.css)
read_page_files(RUNS_SCRIPT script/format.js script/step.js script/view.js script/tooltip.js
  script/legend.js script/svg.js script/chart.js script/step_chart.js script/plan_chart.js
  script/make_table.js script/folded_table.js script/run_chart.js script/runs_page.js)

configure_file(${CMAKE_CURRENT_LIST_DIR}/page_files.cpp.in
               ${CMAKE_CURRENT_BINARY_DIR}/report/page_files.cpp @ONLY)
