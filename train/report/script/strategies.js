// The strategies of the MXNet note on one picture: bytes alive while each op runs.

const kStrategyLooks = {
  'none': {colour: 'ink', width: 1.6, dash: [2, 3]},
  'in place': {colour: 'gradient', width: 1.8, dash: [9, 3, 2, 3]},
  'sharing': {colour: 'activation', width: 1.8, dash: [7, 4]},
  'both': {colour: 'good', width: 2.6, dash: []},
};

// Curves of bytes over the ops of a step, or over other equal parts of it, whose titles
// `titleOf(part)` gives. `looks` has the colour, width and dash of each curve by its name.
class CurvesChart extends PartsChart {
  constructor(host, curves, {looks, label, axis, titleOf}) {
    super(host, {height: 300, label, margin: {left: 78, right: 46, top: 14, bottom: 30}});
    Object.assign(this, {curves, looks, axis, titleOf});
    this.from = this.low = 0;
    this.to = curves[0].bytes.length;
    this.high = 1.06 * largest(curves.flatMap(({bytes}) => bytes), 1);
  }
  drawBase(context) {
    this.bytesAxis(context);
    this.countAxis(context, this.axis);
    for (const {name, bytes} of this.curves) {
      const points =
          bytes.flatMap((value, op) => [op, op + 1].map((at) => [this.x(at), this.y(value)]));
      this.line(context, points, this.looks[name]);
    }
  }
  tooltipAt(op) {
    return tooltipContent(
        null, this.titleOf(op), this.curves.map(({name, bytes}) => [name, formatBytes(bytes[op])]));
  }
}

// Puts a swatch for each curve, with its peak, into a legend.
function fillCurvesLegend(host, {curves, looks}) {
  host.append(...curves.map(({name, bytes}) => {
    const {colour, width, dash} = looks[name];
    const peak = element('small', {}, `peak ${formatBytes(largest(bytes, 0))}`);
    return element('span', {}, lineSwatch(colour, width, dash), name, peak);
  }));
}

function fillStrategies({strategies, ops}, resident) {
  byId('strategies-figure').hidden = false;
  const curves =
      strategies.map(({name, bytes}) => ({name, bytes: bytes.map((value) => value + resident)}));
  const chart = new CurvesChart(byId('strategies-chart'), curves, {
    looks: kStrategyLooks,
    label: 'Bytes alive at each op under the four strategies of the MXNet note',
    axis: 'ops',
    titleOf: (op) => `Op ${formatCount(op)}: ${ops[op][0]}`,
  });
  fillCurvesLegend(byId('strategies-legend'), chart);
}
