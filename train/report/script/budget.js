// The section of a memory budget: bytes against the share of a step that recomputation costs.

const kBudgetDot = 4.5;  // pixels: half the side of the mark of our step

class BudgetChart extends CursorChart {
  constructor(host, budget) {
    super(host, {
      height: 260,
      label: 'Time of a step over its memory',
      margin: {left: 78, right: 70, top: 14, bottom: 30},
    });
    this.budget = budget;
    this.points = [...budget.points].reverse();  // bytes ascend
    this.from = 0;
    this.places = this.points.map(([bytes]) => bytes);
    this.to = Math.max(budget.budget, largest(this.places, 0));
    this.low = 0;
    this.high = 1.05 * largest(this.points.map(([, longer]) => longer), 0) || 0.01;
  }

  drawBase(context) {
    this.valueAxis(context, formatPercent);
    this.drawBytes(context);
    const budget = this.x(this.budget.budget);
    this.rule(context, budget, this.top, budget, this.bottom, {colour: 'soft', dash: [2, 4]});
    const at = (column) => this.points.map((point) => [this.x(point[0]), this.y(point[column])]);
    this.line(context, at(1), {colour: 'accent', width: 2.2});
    this.line(context, at(2), {colour: 'ink', width: 1.4, dash: [6, 4]});
    const step = [this.x(this.budget.reserved), this.y(this.budget.overhead)];
    this.dots(context, [step], kBudgetDot, 'accent');
  }
  drawBytes(context) {
    const step = niceByteStep(this.to / Math.max(2, (this.right - this.left) / 110));
    for (let bytes = 0; bytes <= this.to; bytes += step)
      this.markOnAxis(context, bytes, formatBytes(bytes));
  }
  tooltipAt(point) {
    const [bytes, longer, bound, rounds] = this.points[point];
    return tooltipContent(null, formatBytes(bytes), [
      ['takes longer by', formatPercent(longer)],
      ['at least', formatPercent(bound)],
      ...(rounds ? [['in rounds', rounds]] : []),
    ]);
  }
}

function budgetReading({
  budget,
  reserved,
  reserved_without,
  overhead,
  bound,
  recomputed,
  could_recompute,
  rounds,
  seconds_from
}) {
  if (recomputed === 0 && !rounds) return `The step fits ${formatBytes(budget)} as it is.`;
  return `With ${formatBytes(budget)}, marked by the dotted line, this step recomputes ` +
      `${formatCount(recomputed)} of ${formatCount(could_recompute)} values${rounds ? ` and runs ${rounds} in rounds` : ''}. It takes ` +
      `${formatBytes(reserved)} instead of ${formatBytes(reserved_without)} and ${formatPercent(overhead)} ` +
      `more time, of which ${formatPercent(bound)} cannot be avoided. Seconds ${seconds_from}.`;
}

function fillBudget(budget) {
  byId('budget-section').hidden = false;
  byId('budget-reading').textContent = budgetReading(budget);
  byId('budget-legend')
      .append(
          element('span', {}, lineSwatch('accent', 2.2), 'found'),
          element('span', {}, lineSwatch('ink', 1.4, [6, 4]), 'proved bound'),
          element('span', {}, colourSwatch('accent'), 'this step'));
  new BudgetChart(byId('budget-chart'), budget);
}
