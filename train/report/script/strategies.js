// The strategies of the MXNet note on one picture: bytes alive while each op runs.

const kStrategyLooks = {
  'none': {colour: 'ink', width: 1.6, dash: [2, 3]},
  'in place': {colour: 'gradient', width: 1.8, dash: [9, 3, 2, 3]},
  'sharing': {colour: 'activation', width: 1.8, dash: [7, 4]},
  'both': {colour: 'good', width: 2.6, dash: []},
};

class StrategyChart extends CursorChart {
  constructor(host, {strategies, ops}, resident) {
    super(host, {
      height: 300,
      label: 'Bytes alive at each op under the four strategies of the MXNet note',
      margin: {left: 78, right: 46, top: 14, bottom: 30}
    });
    this.names = ops.map(([name]) => name);
    this.curves =
        strategies.map(({name, bytes}) => ({name, bytes: bytes.map((value) => value + resident)}));
    this.from = this.low = 0;
    this.to = this.names.length;
    this.high = 1.06 * largest(this.curves.flatMap(({bytes}) => bytes), 1);
  }
  drawBase(context) {
    this.bytesAxis(context);
    this.countAxis(context, 'ops');
    for (const {name, bytes} of this.curves) {
      const points =
          bytes.flatMap((value, op) => [op, op + 1].map((at) => [this.x(at), this.y(value)]));
      this.line(context, points, kStrategyLooks[name]);
    }
  }
  cursorAt(pixel) {
    return Math.floor(this.valueAtX(pixel));
  }
  movedCursor(way) {
    return Math.min(Math.max((this.cursor ?? -1) + way, 0), this.to - 1);
  }
  isCursor(op) {
    return op >= 0 && op < this.to;
  }
  valueOf(op) {
    return op + 0.5;
  }
  tooltipAt(op) {
    return tooltipContent(
        null, `Op ${formatCount(op)}: ${this.names[op]}`,
        this.curves.map(({name, bytes}) => [name, formatBytes(bytes[op])]));
  }
}

function fillStrategies(story, resident) {
  byId('strategies-figure').hidden = false;
  const chart = new StrategyChart(byId('strategies-chart'), story, resident);
  byId('strategies-legend').append(...chart.curves.map(({name, bytes}) => {
    const {colour, width, dash} = kStrategyLooks[name];
    const peak = element('small', {}, `peak ${formatBytes(largest(bytes, 0))}`);
    return element('span', {}, lineSwatch(colour, width, dash), name, peak);
  }));
}
