// A table that shows its first rows, a row for the rest, and a button that opens all.

const kRowsPerFrame = 60;  // more would delay the next key

// `rowOf(i)` makes the cells of row i; `restOf(from)` those of one row for all rows from there.
function fillFolded(host, {heads, classes, count, shown, rowOf, restOf}) {
  const rows = (from, to) =>
      Array.from({length: Math.min(to, count) - from}, (_, i) => makeRow(rowOf(from + i), classes));
  const table = makeTable(heads, classes, []);
  const body = table.tBodies[0];
  body.append(...rows(0, shown));
  host.replaceChildren(table);
  if (count <= shown) return;
  const rest = makeRow(restOf(shown), classes);
  body.append(rest);
  const button = element('button', {type: 'button'}, `Show all ${formatCount(count)}`);
  button.addEventListener('click', () => {
    rest.remove();
    button.remove();
    host.focus({preventScroll: true});
    const add = (from) => {
      body.append(...rows(from, from + kRowsPerFrame));
      if (from + kRowsPerFrame < count) requestAnimationFrame(() => add(from + kRowsPerFrame));
    };
    add(shown);
  });
  host.append(button);
}
