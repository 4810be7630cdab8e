// Makes a table. `classes` are the CSS classes of the columns; cells are text or elements.

function makeTable(heads, classes, rows) {
  const row = (cells, tag) => element(
      'tr', {},
      ...cells.map(
          (cell, i) => element(
              tag, {className: classes[i], ...(tag === 'th' ? {scope: 'col'} : {})}, cell)));
  return element(
      'table', {}, element('thead', {}, row(heads, 'th')),
      element('tbody', {}, ...rows.map((cells) => row(cells, 'td'))));
}
