// One step in two orders, side by side on one scale, and the cut that no order avoids. `step` is an
// OrderView in JSON.

// Names the orders that the bound is about.
const boundedOrder = ({forward_as_written}) =>
    forward_as_written ? 'order that runs the forward ops as written' : 'order';

class OrderPair {
  constructor(nameOfOther) {
    const mark = (op) => this.charts.forEach((chart) => chart.mark(op));
    const chart = (id, name) => new OrderChart(byId(id), `Bytes alive at each op in ${name}`, mark);
    this.charts =
        [chart('order-before', 'the program\'s sequence'), chart('order-after', nameOfOther)];
    const swatchOf = (colour, text) => element('span', {}, colourSwatch(colour), text);
    this.residentEntry = swatchOf('state', 'resident');
    byId('order-legend')
        .append(
            swatchOf('activation', 'the step'), this.residentEntry,
            element('span', {}, lineSwatch('good', 1.5, [6, 4]), 'lower bound'));
  }
  show(step) {
    const {program, peak} = step;
    const high = 1.12 * Math.max(program, peak, 1);
    this.charts[0].show(step, step.before, high);
    this.charts[1].show(step, step.after, high);
    this.residentEntry.hidden = step.resident_bytes === 0;
    byId('order-before-reading').textContent = `Peak ${formatBytes(program)}.`;
    const change = program === peak ? 'the same' :
                                      `${formatPercent(Math.abs(program - peak) / program)} ` +
            (peak < program ? 'less' : 'more');
    byId('order-after-reading').textContent = `Peak ${formatBytes(peak)}, ${change}` +
        (peak === step.lower_bound ? `; proved: no ${boundedOrder(step)} peaks lower.` : '.');
  }
}

function fillCut(step) {
  const search = step.bound_by_search ? ' The search proved the rest.' : '';
  const orders =
      step.forward_as_written ? ` This holds for every ${boundedOrder(step)}.` : '';
  byId('cut-reading').textContent =
      step.sentence === '' ? '' : `${step.sentence}.${search}${orders}`;
  byId('cut').replaceChildren();
  if (step.cut_rows.length === 0) return;
  const rows = step.cut_rows.map(([bytes, writer, reader]) => [formatBytes(bytes), writer, reader]);
  if (step.resident_bytes > 0)
    rows.push([formatBytes(step.resident_bytes), 'resident', 'every step']);
  byId('cut').append(makeTable(['Bytes', 'Written by', 'Needed by'], ['number', '', ''], rows));
}
