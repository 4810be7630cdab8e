// The page of PGMO's figures: tables, and the bars of the paper's figure 2.

const kAllocators = [
  {key: 'network_wise', name: 'network-wise', colour: 'network-wise'},
  {key: 'exact_pool', name: 'exact-pool', colour: 'exact-pool'},
  {key: 'pool', name: 'pool', colour: 'pool'},
  {key: 'planned', name: 'planned', colour: 'planned'},
];
const kWidestBar = 66;  // percent; leaves room for the value after the bar

const stepName = (row) => row.mode === 'training' ? `training, batch ${row.batch_size}` :
                                                    `inference, batch ${row.batch_size}`;
const networksOf = (rows) => [...new Set(rows.map((row) => row.network))];

function savedText(row) {
  const share = formatSaving(Math.abs(row.saving));
  if (row.saving === 0) return element('span', {}, ' saves 0 %');
  return row.saving > 0 ? element('span', {className: 'good'}, ` saves ${share}`) :
                          element('span', {className: 'bad'}, ` takes ${share} more`);
}

function bar(row, {key, name, colour}, widest) {
  const width = (bytes) => `${kWidestBar * bytes / widest}%`;
  const resident =
      element('i', {className: 'resident', style: `width: ${width(row.resident_bytes)}`});
  const step = element('i', {
    className: 'step',
    style: `width: ${width(row[key] - row.resident_bytes)}; background: var(--${colour})`
  });
  const value = element('span', {className: 'value'}, formatBytes(row[key]));
  if (key === 'planned') value.append(savedText(row));
  const track = element('div', {className: 'track'}, resident, step, value);
  track.title = `resident ${formatBytes(row.resident_bytes)}, step ` +
      formatBytes(row[key] - row.resident_bytes);
  return element(
      'div', {className: 'allocator'}, element('span', {className: 'name'}, name), track);
}

// Inference has its own scale: next to training with batches of 128, its bars would be invisible.
function fillBars({rows}) {
  networksOf(rows).forEach((network) => {
    const own = rows.filter((row) => row.network === network);
    const groups = own.map((row) => {
      const alike = own.filter((other) => other.mode === row.mode);
      const widest = largest(alike.flatMap((other) => kAllocators.map(({key}) => other[key])), 1);
      return element(
          'div', {className: 'group'}, element('h4', {}, stepName(row)),
          ...kAllocators.map((allocator) => bar(row, allocator, widest)));
    });
    byId('bars').append(
        element('div', {className: 'network'}, element('h3', {}, network), ...groups));
  });
  const swatch = (colour, text) => element('span', {}, colourSwatch(colour), text);
  byId('memory-legend')
      .append(
          swatch('resident', 'resident: parameters, gradients, optimizer, running values'),
          ...kAllocators.map(({colour, name}) => swatch(colour, `one step, ${name}`)));
}

// Makes a section of the text's table and note. Verdicts on a difference have their colour.
function sectionOf({title, note, columns = [], rows = []}) {
  const verdicts = {equal: 'good', holds: 'good', 'does not hold': 'bad'};
  const cellOf = (cell) =>
      cell in verdicts ? element('span', {className: verdicts[cell]}, cell) : cell;
  const table = makeTable(
      columns.map((column) => column.title),
      columns.map((column) => column.is_text ? '' : 'number'),
      rows.map((cells) => cells.map(cellOf)));
  return element(
      'section', {}, element('h2', {}, title),
      element(
          'div', {className: 'table-scroll', tabIndex: 0}, ...(columns.length > 0 ? [table] : [])),
      element('p', {className: 'note'}, note));
}

const data = JSON.parse(byId('data').textContent);
byId('workspace').textContent = formatBytes(data.workspace);
const most = data.rows.reduce((best, row) => row.saving > best.saving ? row : best);
byId('verdict').textContent =
    `The plan saves up to ${formatSaving(most.saving)} against the pool (${most.network}, ` +
    `${stepName(most)}); the paper's largest saving is 49.5 %.`;
const [figures, ...others] = data.sections.map(sectionOf);
byId('figures').append(figures);
byId('figure-1').srcdoc = data.figure_1;
fillBars(data);
byId('others').append(...others);
