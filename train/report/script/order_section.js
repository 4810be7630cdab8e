// The report's section on the order of the ops.

const kMovedRows = 8;

// What the executed order saves against the program's.
function savingText({algorithm, program, peak}) {
  if (algorithm === 'program') {
    return 'The ops ran in the program’s sequence (--order program) and need at most ' +
        `${formatBytes(peak)}.`;
  }
  if (program === peak) {
    return `The order of the ops (--order ${algorithm}) saves nothing: this step needs ` +
        `${formatBytes(peak)} in the program’s sequence and as executed.`;
  }
  const change = Math.abs(program - peak);
  return `The order of the ops (--order ${algorithm}) ${peak < program ? 'saves' : 'costs'} ` +
      `${formatBytes(change)}, ${formatPercent(change / program)}: the step needs ` +
      `${formatBytes(program)} in the program’s sequence and ${formatBytes(peak)} as executed.`;
}

// How far the executed order is from the least possible.
function boundText(step) {
  const {peak, lower_bound, least_known} = step;
  const forward = least_known < lower_bound ? ', which moves forward ops, too,' : '';
  const least = ` The best order found${forward} needs ${formatBytes(least_known)}, ` +
      `${formatBytes(peak - least_known)} less.`;
  const known = least_known < peak ? least : '';
  if (peak === lower_bound) return ` No ${boundedOrder(step)} needs less.${known}`;
  if (least_known === lower_bound) return `${known} No ${boundedOrder(step)} needs less than that.`;
  const gap = formatPercent((peak - lower_bound) / lower_bound);
  return `${known} Every ${boundedOrder(step)} needs at least ${formatBytes(lower_bound)}; ` +
      `the gap is ${gap}.`;
}

// Forward ops run as the program defines them; boundText() tells what moving them would save.
const forwardText = ({peak, least_known}) => least_known < peak ?
    '' :
    ' Forward ops run as written; the best order found that moves them, too, saves nothing more.';

// The ops that do not run at their place in the program, the farthest first.
function movedOps({after}) {
  return after.order.map((op, place) => ({op, place, way: place - op}))
      .filter(({way}) => way !== 0)
      .sort((a, b) => Math.abs(b.way) - Math.abs(a.way) || a.op - b.op);
}

function fillMoved(step) {
  const moved = movedOps(step);
  const all = formatCount(step.names.length);
  byId('moved-count').textContent =
      `${formatCount(moved.length)} of ${all} ops run at another place. ` +
      'Ops are numbered from 0 in the program’s sequence, places from 1.';
  const rows = moved.slice(0, kMovedRows).map(({op, place, way}) => [
    `op ${op} (${step.names[op]})`, formatCount(op + 1), formatCount(place + 1),
    `${formatCount(Math.abs(way))} ${way > 0 ? 'later' : 'earlier'}`,
  ]);
  byId('moved').append(makeTable(
      ['Op', 'Place in the program', 'Place as executed', 'Moved'],
      ['', 'number', 'number', 'number'], rows));
}

// `varies`: the steps of the run differ.
function fillOrder(step, varies) {
  byId('order-section').hidden = false;
  byId('order-saving').textContent = savingText(step) + boundText(step) +
      forwardText(step);
  if (varies) byId('order-step').textContent = 'Steps differ; this is the longest one.';
  const same = step.program === step.peak;
  byId('order-pictures').hidden = same;
  if (!same) {
    new OrderPair('the executed sequence').show(step);
    fillMoved(step);
  }
  byId('cut-figure').hidden = byId('cut-link').hidden = step.sentence === '';
  byId('cut-link').addEventListener('click', () => byId('cut-figure').scrollIntoView());
  byId('cut-title').textContent = step.peak === step.lower_bound ?
      'Why less is impossible' :
      `Why no order needs less than ${formatBytes(step.lower_bound)}`;
  fillCut(step);
}
