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

function fillFigures({figures}) {
  const notes = [...new Set(figures.map((figure) => figure.note).filter((note) => note !== ''))];
  const verdictClass = ({difference}) => ['equal', 'holds'].includes(difference) ? 'good' :
      difference === 'does not hold'                                             ? 'bad' :
                                                                                   '';
  const rows = figures.map((figure) => [
    figure.figure, figure.section, figure.paper_text, figure.ours_text, figure.exact_pool_text,
    figure.as_chainer_text, figure.as_chainer_exact_pool_text,
    element('span', {className: verdictClass(figure)}, figure.difference),
    figure.note === '' ? '' : String(notes.indexOf(figure.note) + 1),
  ]);
  byId('figures').append(makeTable(
      [
        'Figure', 'Section', 'Paper', 'Ours', 'Or, exact-size pool', 'As Chainer',
        'Or, exact-size pool', 'Difference', 'Note'
      ],
      ['', '', ...Array(7).fill('number')], rows));
  byId('notes').append(...notes.map((note) => element('li', {}, note)));
}

function savedText(row) {
  const share = formatSaving(Math.abs(row.saving));
  if (row.saving === 0) return element('span', {}, ' saves 0 %');
  return row.saving > 0 ? element('span', {className: 'good'}, ` saves ${share}`) :
                          element('span', {className: 'bad'}, ` takes ${share} more`);
}

function bar(row, {key, name, colour}, widest) {
  const width = (bytes) => `${kWidestBar * bytes / widest}%`;
  const resident = element('i', {className: 'resident'});
  resident.style.width = width(row.resident_bytes);
  const step = element('i', {className: 'step'});
  step.style.width = width(row[key] - row.resident_bytes);
  step.style.background = `var(--${colour})`;
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
  const swatch = (colour, text) => {
    const square = element('i');
    square.style.background = `var(--${colour})`;
    return element('span', {}, square, text);
  };
  byId('memory-legend')
      .append(
          swatch('resident', 'resident: parameters, gradients, optimizer, running values'),
          ...kAllocators.map(({colour, name}) => swatch(colour, `one step, ${name}`)));
}

// Fills the table of one column: our ops or Chainer's.
function fillMemory(id, rows, memoryOf) {
  byId(id).append(makeTable(
      [
        'Network', 'Step', 'Resident', 'Network-wise', 'Exact-size pool (Chainer up to 1.24)',
        'Pool (Chainer 3)', 'Planned', 'Step only', 'Saved against the pool',
        'Saved against the exact-size pool'
      ],
      ['name', '', ...Array(8).fill('number')], rows.map((row) => {
        const memory = memoryOf(row);
        return [
          row.network, stepName(row), formatBytes(memory.resident_bytes),
          formatBytes(memory.network_wise), formatBytes(memory.exact_pool),
          formatBytes(memory.pool), formatBytes(memory.planned), formatBytes(memory.planned_step),
          formatSaving(memory.saving), formatSaving(memory.saving_against_exact_pool),
        ];
      })));
}

function fillRatios({ratios}) {
  byId('ratios').append(makeTable(
      ['Batch', 'Allocator', 'Ours', 'As Chainer'], ['number', 'name', 'number', 'number'],
      ratios.map((ratio) => [
        String(ratio.batch_size), ratio.allocator, `${ratio.ours.toFixed(2)} ×`,
        `${ratio.as_chainer.toFixed(2)} ×`,
      ])));
}

// Fills the table of how far each allocator exceeds the live bytes, and how often it asks the device.
function fillMiniBatches({rows}) {
  const ran = rows.filter((row) => row.mini_batches !== null);
  if (ran.length === 0) return;
  byId('mini-batches-reading').textContent =
      `${ran[0].mini_batches.count} mini-batches in sequence, with sentences of 1 to 50 words ` +
      'whose lengths follow WMT\'s development sets. The table shows how far reserved memory ' +
      'exceeds the peak of live memory, resident memory included. “grow” re-plans when a request ' +
      'grows; “upper-bound” plans from dry runs of all mini-batches. Device allocations are counted ' +
      'after the first mini-batch.';
  const names = Object.keys(ran[0].mini_batches.allocators);
  const number = 'number';
  byId('mini-batches').append(makeTable(
      ['Step', 'Live peak', ...names, 'Re-plans of grow', ...names.map(
          (name) => `Device allocations, ${name}`)],
      ['name', number, ...names.map(() => number), number, ...names.map(() => number)],
      ran.map((row) => {
        const {live_bytes: live, allocators} = row.mini_batches;
        return [
          stepName(row), formatBytes(live),
          ...names.map((name) => `+${formatPercent(allocators[name].peak_reserved / live - 1)}`),
          String(allocators['planned-grow'].replans),
          ...names.map((name) => String(allocators[name].device_allocations_after_first)),
        ];
      })));
}

// Fills figure 3: a row for each allocator, with a bar of its images or sentences a second.
function fillStepTimes({times}) {
  if (times === null) return;
  byId('step-time-reading').textContent =
      `Medians of ${times.steps} steps on the device ${times.device}, without ` +
      `${times.warmup_steps} of warm-up and the one after. The allocators of a row took turns. ` +
      'N/A: the batch does not fit. Bars show images or sentences a second within a row.';
  const runs = [...times.rows, ...times.largest];
  const perSecond = ({batch_size: size, step_seconds: seconds}) =>
      seconds === null ? 0 : size / seconds;
  const known = (value, format) => value === null ? 'N/A' : format(value);
  byId('step-times').append(makeTable(
      [
        'Figure', 'Network', 'Step', 'Batch', 'Allocator', 'Seconds a step', 'A second', '',
        'An allocation', 'Speed'
      ],
      ['', 'name', '', 'number', '', 'number', 'number', 'bar', 'number', 'number'],
      runs.flatMap((run) => {
        const widest = largest(run.allocators.map(perSecond), 1e-9);
        return run.allocators.map((arm, index) => {
          const length = element('i');
          length.style.width = `${100 * perSecond(arm) / widest}%`;
          return [
            `3(${run.panel})`, run.network, run.mode, String(arm.batch_size), arm.allocator,
            known(arm.step_seconds, formatSeconds),
            known(arm.step_seconds, () => perSecond(arm).toFixed(2)), length,
            known(arm.allocate_ns, formatNanoseconds),
            index === 1 && run.speed !== null ? `${run.speed.toFixed(2)} ×` : '',
          ];
        });
      })));
}

function fillTime({rows, growth_exponent: exponent}) {
  byId('growth').textContent = (exponent === null ? '' :
      `Best-fit's time grows with the number of blocks to the power of ${exponent.toFixed(2)}. `) +
      'A larger batch has as many blocks, only larger ones, so the time hardly changes.';
  const widest = largest(rows.map((row) => row.heuristic_seconds), 1e-9);
  const number = 'number';
  byId('time').append(makeTable(
      [
        'Network', 'Step', 'Blocks', 'Heuristic', '', 'Per block', 'Above the best plan',
        'Best plan'
      ],
      ['name', '', number, number, 'bar', number, number, ''], rows.map((row) => {
        const length = element('i');
        length.style.width = `${100 * row.heuristic_seconds / widest}%`;
        return [
          row.network, stepName(row), formatCount(row.blocks), formatSeconds(row.heuristic_seconds),
          length, formatSeconds(row.heuristic_seconds / row.blocks),
          formatPercent(row.planned_step / row.best_plan_step - 1),
          row.proved_optimal ? 'proved optimal' : 'best known',
        ];
      })));
}

const data = JSON.parse(byId('data').textContent);
byId('workspace').textContent = formatBytes(data.workspace);
const most = data.rows.reduce((best, row) => row.saving > best.saving ? row : best);
byId('verdict').textContent =
    `The plan saves up to ${formatSaving(most.saving)} against the pool (${most.network}, ` +
    `${stepName(most)}); the paper's largest saving is 49.5 %.`;
fillFigures(data);
byId('figure-1').srcdoc = data.figure_1;
fillBars(data);
fillMemory('memory', data.rows, (row) => row);
fillMemory('memory-as-chainer', data.rows, (row) => row.as_chainer);
fillRatios(data);
fillMiniBatches(data);
fillStepTimes(data);
fillTime(data);
