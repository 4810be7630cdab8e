// The page of OLLA's steps: a table, and one step before and after ordering.

const data = JSON.parse(byId('data').textContent);
const kCutRows = 15;

const stepOf = (index) => data.rows[index];

function fillNetworks(choose) {
  const number = 'number';
  const rows = data.rows.map((row) => [
    row.graph, formatCount(row.ops), formatBytes(row.program), formatBytes(row.early),
    formatBytes(row.inductor), formatBytes(row.xla), formatBytes(row.peak),
    formatBytes(row.lower_bound),
    element('span', {className: row.proved_optimal ? 'good' : 'bad'},
            row.proved_optimal ? 'yes' : 'no'),
    formatPercent(row.saving), row.published ? formatPercent(row.published.saving) : '–',
    formatSeconds(row.seconds),
  ]);
  const table = makeTable(
      [
        'Step', 'Ops', 'Program', 'Early', 'Inductor', 'XLA', 'Optimal', 'Bound', 'Proved', 'Saves',
        'OLLA\'s', 'Time'
      ],
      ['name', ...Array(7).fill(number), '', number, number, number], rows);
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

function fillCut(row) {
  const {cut} = row;
  byId('cut-reading').textContent = `${row.sentence}.` +
      (cut !== null && cut.bytes + row.resident_bytes < row.lower_bound ?
           ' The search proved the rest.' :
           '');
  byId('cut').replaceChildren();
  if (cut === null) return;
  const nameOf = (op) => op === null ? 'kept to the end' : `op ${op} (${row.names[op]})`;
  const shown = cut.values.slice(0, kCutRows);
  const rest = cut.values.slice(kCutRows);
  const rows = shown.map((value) => [
    formatBytes(value.bytes), nameOf(value.written_by),
    value.needed_by === cut.op ? 'this op' : nameOf(value.needed_by),
  ]);
  const sum = (values) => values.reduce((bytes, value) => bytes + value.bytes, 0);
  if (rest.length > 0)
    rows.push([formatBytes(sum(rest)), `${formatCount(rest.length)} smaller values`, 'later ops']);
  if (cut.output_bytes > 0)
    rows.push([formatBytes(cut.output_bytes), 'this op: its outputs', 'later ops']);
  if (cut.workspace_bytes > 0)
    rows.push([formatBytes(cut.workspace_bytes), 'this op: its workspace', 'this op']);
  if (row.resident_bytes > 0)
    rows.push([formatBytes(row.resident_bytes), 'resident', 'every step']);
  byId('cut').append(makeTable(['Bytes', 'Written by', 'Needed by'], ['number', '', ''], rows));
}

const swatchOf = (colour, text) => element('span', {}, colourSwatch(colour), text);

const charts = [];
const mark = (op) => charts.forEach((chart) => chart.mark(op));
charts.push(
    new OrderChart(byId('before'), 'Bytes alive at each op in the program\'s order', mark),
    new OrderChart(byId('after'), 'Bytes alive at each op in the optimal order', mark));

let buttons = [];
function choose(index) {
  const row = stepOf(index);
  const high = 1.12 * Math.max(row.program, row.peak, 1);
  charts[0].show(row, row.before, high);
  charts[1].show(row, row.after, high);
  byId('before-reading').textContent = `Peak ${formatBytes(row.program)}.`;
  byId('after-reading').textContent = `Peak ${formatBytes(row.peak)}, ` +
      (row.saving === 0 ? 'the same' : `${formatPercent(row.saving)} less`) +
      (row.proved_optimal ? '; proved: no order peaks lower.' : '.');
  fillCut(row);
  buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(i === index)));
}

buttons = data.rows.map((row, i) => {
  const button = element('button', {type: 'button'}, row.graph);
  button.addEventListener('click', () => choose(i));
  return button;
});
byId('choice').append(...buttons);
byId('marks-legend')
    .append(
        swatchOf('activation', 'the step'), swatchOf('state', 'resident'),
        element('span', {}, lineSwatch('good', 1.5, [6, 4]), 'lower bound'));
fillNetworks(choose);

const best = data.rows.reduce((most, row) => row.saving > most.saving ? row : most);
const proved = data.rows.filter((row) => row.proved_optimal).length;
byId('verdict').textContent =
    `${proved} of ${data.rows.length} steps are ordered with the least possible peak, proved, in ` +
    `${formatSeconds(data.seconds)} altogether. Against the program the order saves up to ` +
    `${formatPercent(best.saving)} (${best.graph}), ${formatPercent(data.mean_saving)} on average.`;
choose(Math.max(0, data.rows.findIndex((row) => row.published !== null)));
