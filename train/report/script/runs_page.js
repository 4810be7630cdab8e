// Two runs: what differs, both plans on one scale, and the blocks that differ.

const data = JSON.parse(byId('data').textContent);
const sides = ['first', 'second'];

function pairBlocks([first, second]) {
  for (const block of [...first.blocks, ...second.blocks])
    Object.assign(block, {partner: null, changed: true});
  for (const [i, j, changed] of data.pairs) {
    Object.assign(first.blocks[i], {partner: second.blocks[j], changed});
    Object.assign(second.blocks[j], {partner: first.blocks[i], changed});
  }
}

function fillFigures() {
  byId('runs').textContent =
      sides.map((side) => `The ${side} run is ${data[side].run_directory}.`).join(' ');
  const names = ['order', 'allocator'].map((name) => {
    const [first, second] = sides.map((side) => data[side][name]);
    return [name, first, second, first === second ? 'the same' : 'another'];
  });
  const rows = [...data.rows, ...names].map((row) => row.map((cell) => cell || '–'));
  const number = 'number';
  byId('figures').append(
      makeTable(['', 'First', 'Second', 'Difference'], ['name', number, number, number], rows));
  byId('settings-part').hidden = data.settings.length === 0;
  byId('settings').append(makeTable(
      ['Setting', 'First', 'Second'], ['name', '', ''],
      data.settings.map(({name, first, second}) => [name, first, second])));
}

function fillBlocks() {
  byId('sentence').textContent = data.sentence;
  if (data.changed_blocks.length === 0) return;
  const of = (facts, key, format) => facts === null ? '–' : format(facts[key]);
  const number = 'number';
  fillFolded(byId('blocks'), {
    heads: ['Block', 'Bytes in the first', 'In the second', 'Lifetime in the first', 'In the second'],
    classes: ['', number, number, number, number],
    count: data.changed_blocks.length,
    shown: 20,
    rowOf: (i) => {
      const {category, first, second} = data.changed_blocks[i];
      return [
        element('span', {}, colourSwatch(category), data.names[i]), of(first, 'bytes', formatBytes),
        of(second, 'bytes', formatBytes), of(first, 'lifetime', formatCount),
        of(second, 'lifetime', formatCount)
      ];
    },
    restOf: (from) => [`${formatCount(data.changed_blocks.length - from)} more`, '', '', '', ''],
  });
}

function fillPlans() {
  const steps = data.plans.map(readStep);
  pairBlocks(steps);
  const view = new View(
      Math.min(...steps.map((step) => step.first)), Math.max(...steps.map((step) => step.last)));
  view.onlyChanged = false;
  const high = 1.05 * Math.max(...steps.map((step) => step.plan.peak), 1);
  steps.forEach((step, i) => {
    const words = i === 0 ? 'The first run' : 'The second run';
    byId(`${sides[i]}-title`).textContent =
        `${words}: ${formatCount(step.blocks.length)} blocks, peak ${formatBytes(step.plan.peak)}`;
    new RunChart(byId(`${sides[i]}-chart`), words.toLowerCase(), step, view, high);
  });
  const present = steps[0].categories.map((_, c) => c)
                      .filter((c) => steps.some((step) => step.present.includes(c)));
  const entry = (category) => {
    const name = steps[0].categories[category];
    return {swatch: colourSwatch(name), name, note: '', value: category};
  };
  fillLegend(byId('legend'), present.map(entry), view, 'category');
  byId('zoom-in').addEventListener('click', () => view.zoom(0.5));
  byId('zoom-out').addEventListener('click', () => view.zoom(2));
  byId('zoom-reset').addEventListener('click', () => view.whole());
  byId('only-changed').addEventListener('click', (event) => {
    view.emphasise({onlyChanged: !view.onlyChanged});
    event.target.setAttribute('aria-pressed', String(view.onlyChanged));
  });
}

function fillVerdict() {
  const peak = data.difference.peak;
  const change = peak === 0 ? 'as many bytes as' :
                              `${formatBytes(Math.abs(peak))} ${peak < 0 ? 'less' : 'more'} than`;
  byId('verdict').textContent = `The second step's plan takes ${change} the first's: ` +
      `${formatBytes(data.second.peak)} and ${formatBytes(data.first.peak)}.`;
}

fillVerdict();
fillFigures();
fillPlans();
fillBlocks();
