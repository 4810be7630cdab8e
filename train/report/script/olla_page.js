// The page of OLLA's figures and steps: tables, and one step before and after ordering.

const data = JSON.parse(byId('data').textContent);

// The steps that can be chosen: the paper's figure 3, then the networks.
const steps = [data.figure_3, ...data.rows];

function fillNetworks(choose) {
  const number = 'number';
  const rows = data.rows.map((row) => [
    row.graph, formatCount(row.ops), formatBytes(row.program), formatBytes(row.early),
    formatBytes(row.late),
    formatBytes(row.inductor), formatBytes(row.xla), formatBytes(row.tensorflow),
    formatBytes(row.peak),
    formatBytes(row.lower_bound),
    element('span', {className: row.proved_optimal ? 'good' : 'bad'},
            row.proved_optimal ? 'yes' : 'no'),
    formatPercent(row.saving), row.published ? formatPercent(row.published.saving) : '–',
    formatSeconds(row.seconds),
  ]);
  const table = makeTable(
      [
        'Step', 'Ops', 'Program', 'Early', 'Late', 'Inductor', 'XLA', 'TensorFlow', 'Optimal',
        'Bound', 'Proved', 'Saves', 'OLLA\'s', 'Time'
      ],
      ['name', ...Array(9).fill(number), '', number, number, number], rows);
  [...table.tBodies[0].rows].forEach((row, i) => row.addEventListener('click', () => choose(i + 1)));
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

function fillPlaced() {
  const rows = data.rows.map((row) => [
    row.graph, formatBytes(row.caching), formatBytes(row.program), formatBytes(row.peak),
    formatBytes(row.placed), formatPercent(row.saving), formatPercent(row.fragmentation),
    formatPercent(row.both_saving),
  ]);
  rows.push([
    'Mean', '', '', '', '', formatPercent(data.mean_saving), formatPercent(data.mean_fragmentation),
    formatPercent(data.mean_both_saving),
  ]);
  byId('placed').append(makeTable(
      [
        'Step', 'PyTorch’s allocator', 'Program’s order', 'Optimal order', 'Placed', 'By order',
        'Fragmentation', 'Both'
      ],
      ['name', ...Array(7).fill('number')], rows));
}

// Draws the blocks of figure 4 at a placement's offsets; x are ticks, y addresses.
function drawPlacement(host, {blocks, capacity}, offsets) {
  const width = 320, height = 200;
  const peak = Math.max(...blocks.map(({bytes}, k) => offsets[k] + bytes));
  const x = (tick) => width * tick / Math.max(...blocks.map(({upper}) => upper));
  const y = (bytes) => height * (1 - bytes / (1.5 * capacity));
  const shapes = blocks.map(({lower, upper, bytes}, k) => {
    const colour = styleOf(offsets[k] + bytes <= capacity ? 'activation' : 'bad');
    const box = `x="${x(lower)}" y="${y(offsets[k] + bytes)}" width="${x(upper) - x(lower)}" ` +
        `height="${y(offsets[k]) - y(offsets[k] + bytes)}"`;
    const name = 'ABC'[k];
    return `<rect ${box} fill="${colour}" stroke="${styleOf('ink')}"/>` +
        `<text x="${x(lower) + 8}" y="${y(offsets[k]) - 8}" font-size="12" ` +
        `fill="${inkOn(colour)}">${name}: ${formatBytes(bytes)}</text>`;
  });
  const line = `<line x1="0" x2="${width}" y1="${y(capacity)}" y2="${y(capacity)}" ` +
      `stroke="${styleOf('ink')}" stroke-dasharray="6 4"/>`;
  host.innerHTML = `<svg viewBox="0 -2 ${width} ${height + 4}" role="img" aria-label="peak ` +
      `${formatBytes(peak)} of ${formatBytes(capacity)}">${shapes.join('')}${line}</svg>`;
}

function fillFigures() {
  const {figure_3: order, figure_4: figure} = data;
  byId('figures-reading').textContent =
      `Figure 3: the order of four ops needs ${order.program / 1e6} MB as written and ` +
      `${order.peak / 1e6} MB in the best order; see it below. Figure 4: within ` +
      `${formatBytes(figure.capacity)} (dashed), bfc refuses block C: ${figure.refusal}.`;
  drawPlacement(byId('figure-4-before'), figure, figure.as_requested);
  drawPlacement(byId('figure-4-after'), figure, figure.planned);
}
const formatGiB = (bytes) => (bytes / 2 ** 30).toFixed(4);

const pair = new OrderPair('the optimal order');

let buttons = [];
function choose(index) {
  const row = steps[index];
  pair.show(row);
  fillCut(row);
  buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(i === index)));
}

buttons = steps.map((row, i) => {
  const button = element('button', {type: 'button'}, row.graph);
  button.addEventListener('click', () => choose(i));
  return button;
});
byId('choice').hidden = false;
byId('choice').append(...buttons);
byId('order-after-title').textContent = 'The optimal order';
fillNetworks(choose);
fillPlaced();
fillFigures();

const best = data.rows.reduce((most, row) => row.saving > most.saving ? row : most);
const proved = data.rows.filter((row) => row.proved_optimal).length;
byId('verdict').textContent =
    `${proved} of ${data.rows.length} steps are ordered with the least possible peak, proved, in ` +
    `${formatSeconds(data.seconds)} altogether. Against the program the order saves up to ` +
    `${formatPercent(best.saving)} (${best.graph}), ${formatPercent(data.mean_saving)} on average; ` +
    `with addresses, against PyTorch's allocator, ${formatPercent(data.mean_both_saving)}.`;
choose(1 + Math.max(0, data.rows.findIndex((row) => row.published !== null)));
