// Makes a table. `classes` are the CSS classes of the columns; cells are text or elements.

const makeRow = (cells, classes, tag = 'td') => element(
    'tr', {},
    ...cells.map(
        (cell, i) => element(
            tag, {className: classes[i], ...(tag === 'th' ? {scope: 'col'} : {})}, cell)));

function makeTable(heads, classes, rows) {
  return element(
      'table', {}, element('thead', {}, makeRow(heads, classes, 'th')),
      element('tbody', {}, ...rows.map((cells) => makeRow(cells, classes))));
}

// Makes wide tables scroll by the keyboard, too.
for (const host of document.querySelectorAll('.table-scroll')) {
  host.tabIndex = 0;
  host.setAttribute('role', 'region');
  host.setAttribute('aria-label', 'A table, which may be wider than the screen');
}
