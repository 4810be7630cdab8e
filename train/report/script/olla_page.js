// The page of OLLA's steps: a table, and one step before and after ordering.

const data = JSON.parse(byId('data').textContent);

const stepOf = (index) => data.rows[index];

function fillNetworks(choose) {
  const number = 'number';
  const rows = data.rows.map((row) => [
    row.graph, formatCount(row.ops), formatBytes(row.program), formatBytes(row.early),
    formatBytes(row.late),
    formatBytes(row.inductor), formatBytes(row.xla), formatBytes(row.peak),
    formatBytes(row.lower_bound),
    element('span', {className: row.proved_optimal ? 'good' : 'bad'},
            row.proved_optimal ? 'yes' : 'no'),
    formatPercent(row.saving), row.published ? formatPercent(row.published.saving) : '–',
    formatSeconds(row.seconds),
  ]);
  const table = makeTable(
      [
        'Step', 'Ops', 'Program', 'Early', 'Late', 'Inductor', 'XLA', 'Optimal', 'Bound', 'Proved',
        'Saves', 'OLLA\'s', 'Time'
      ],
      ['name', ...Array(8).fill(number), '', number, number, number], rows);
  [...table.tBodies[0].rows].forEach((row, i) => row.addEventListener('click', () => choose(i)));
  byId('networks').append(table);
  byId('theirs').textContent =
      data.rows.filter((row) => row.published !== null)
          .map(
              ({graph, published, program, peak, saving}) =>
                  `${graph}: ${published.source} reports ${published.before_gib} → ` +
                  `${published.after_gib} GiB, ${formatPercent(published.saving)} less; the optimum ` +
                  `goes from ${formatGiB(program)} to ${formatGiB(peak)} GiB, ` +
                  `${formatPercent(saving)} less.`)
          .join(' ');
}
const formatGiB = (bytes) => (bytes / 2 ** 30).toFixed(4);

const pair = new OrderPair('the optimal order');

let buttons = [];
function choose(index) {
  const row = stepOf(index);
  pair.show(row);
  fillCut(row);
  buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(i === index)));
}

buttons = data.rows.map((row, i) => {
  const button = element('button', {type: 'button'}, row.graph);
  button.addEventListener('click', () => choose(i));
  return button;
});
byId('choice').append(...buttons);
fillNetworks(choose);

const best = data.rows.reduce((most, row) => row.saving > most.saving ? row : most);
const proved = data.rows.filter((row) => row.proved_optimal).length;
byId('verdict').textContent =
    `${proved} of ${data.rows.length} steps are ordered with the least possible peak, proved, in ` +
    `${formatSeconds(data.seconds)} altogether. Against the program the order saves up to ` +
    `${formatPercent(best.saving)} (${best.graph}), ${formatPercent(data.mean_saving)} on average.`;
choose(Math.max(0, data.rows.findIndex((row) => row.published !== null)));
