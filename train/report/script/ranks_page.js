// The page of a step on many ranks: curves over their number, and the table.

const data = JSON.parse(byId('data').textContent);

const kRankDot = 2.6;         // pixels: half the side of the mark of a measured number of ranks
const kRankLabelPixels = 52;  // between numbers of ranks below the axis
const kNearIdeal = 1.05;

const styles = [{colour: 'accent', width: 2.2, dash: []}, {colour: 'gradient', width: 2.2, dash: [9, 3]}];
const curves = data.curves.map((curve, i) => ({...curve, ...styles[i % styles.length]}));
const ideal = curves[0].rows[0].seconds;
const bytesOf = (row) => row.peak + row.resident_bytes;
const hiddenOf = (row) => (row.sums > 0 ? row.hidden : null);  // one rank sums nothing
const percentOf = (share) => (share === null ? '–' : formatPercent(share));
const timesIdeal = (row) => {
  const times = row.seconds / ideal;
  return `${times.toFixed(times < 10 ? 2 : 1)} ×`;
};

// A figure over the ranks, whose axis is logarithmic. `of` gives the figure of a row, null if it
// has none. With `ideal`, the y axis is logarithmic, too, and the line of that value is drawn.
class RankChart extends CursorChart {
  constructor(host, {label, of, format, ideal = null, most = 0}) {
    super(host, {height: 250, label, margin: {left: 78, right: 46, top: 14, bottom: 30}});
    Object.assign(this, {of, format, ideal});
    this.ranks = [...new Set(curves.flatMap(({rows}) => rows.map((row) => row.ranks)))];
    this.places = this.ranks.map(Math.log2);
    this.from = 0;
    this.to = Math.max(1, Math.log2(largest(this.ranks, 1)));
    const values = curves.flatMap(({rows}) => rows.map(of)).filter((value) => value !== null);
    this.low = ideal === null ? 0 : this.scaled(Math.min(ideal, ...values) / 1.5);
    this.high = ideal === null ? 1.08 * largest(values, most) || 1 :
                                 this.scaled(1.5 * largest(values, ideal));
  }
  scaled(value) {
    return this.ideal === null ? value : Math.log10(Math.max(value, 1e-12));
  }
  at(row) {
    return [this.x(Math.log2(row.ranks)), this.y(this.scaled(this.of(row)))];
  }

  drawBase(context) {
    this.ticks().forEach((value) => {
      const y = Math.round(this.y(this.scaled(value))) + 0.5;
      this.rule(context, this.left, y, this.right, y, {colour: 'grid'});
      this.text(context, this.format(value), this.left - 8, y, {align: 'right'});
    });
    this.rule(
        context, this.left, this.bottom + 0.5, this.right, this.bottom + 0.5, {colour: 'line'});
    this.drawRanks(context);
    if (this.ideal !== null) {
      const y = this.y(this.scaled(this.ideal));
      this.rule(context, this.left, y, this.right, y, {colour: 'ink', width: 1.4, dash: [6, 4]});
    }
    curves.forEach((curve) => this.drawCurve(context, curve));
  }
  // Where the y axis has numbers: 1, 2 and 5 of each decade, or equal steps.
  ticks() {
    if (this.ideal !== null) {
      const decades = this.high - this.low;
      const factors = decades > 3 ? [1] : [1, 2, 5];
      const values = [];
      for (let power = Math.floor(this.low); power <= this.high; ++power)
        values.push(...factors.map((factor) => factor * 10 ** power));
      return values.filter((value) => Math.log10(value) >= this.low && Math.log10(value) <= this.high);
    }
    const least = this.high / Math.max(2, (this.bottom - this.top) / 40);
    const step = this.format === formatBytes ? niceByteStep(least) : niceStep(least);
    const count = Math.floor(this.high / step);
    return Array.from({length: count + 1}, (_, i) => Number((i * step).toPrecision(9)));
  }
  drawRanks(context) {
    const each = Math.ceil(kRankLabelPixels / ((this.right - this.left) / this.to));
    for (let power = 0; power <= this.to; power += each)
      this.markOnAxis(context, power, formatCount(2 ** power));
    this.axisName(context, this.isNarrow ? '' : 'ranks', 10);
  }
  drawCurve(context, curve) {
    const points = curve.rows.filter((row) => this.of(row) !== null).map((row) => this.at(row));
    this.line(context, points, curve);
    this.dots(context, points, kRankDot, curve.colour);
  }

  tooltipAt(index) {
    const rows = curves.flatMap(({name, rows}) => {
      const row = rows.find(({ranks}) => ranks === this.ranks[index]);
      return row === undefined ? [] : [
        ...(curves.length > 1 ? [[name, ' ']] : []), ['step', formatSeconds(row.seconds)],
        ['against ideal', timesIdeal(row)], ['hidden', percentOf(hiddenOf(row))],
        ['bytes of a rank', formatBytes(bytesOf(row))], ['sends', formatBytes(row.sent_bytes)]
      ];
    });
    return tooltipContent(null, `${formatCount(this.ranks[index])} ranks`, rows);
  }
}

// How far the steps stay near the ideal, and what happens beyond.
function whatToSee({rows}) {
  const leaves = rows.findIndex((row) => row.seconds > kNearIdeal * ideal);
  const kept = leaves < 0 ? rows.at(-1) : rows[leaves - 1];
  const first = kept.ranks === 1 ?
      'A step of one rank waits for nobody' :
      `Up to ${formatCount(kept.ranks)} ranks, a step takes at most 5 % longer than on one`;
  const then = leaves < 0 ? '. ' :
      `; on ${formatCount(rows[leaves].ranks)} it takes ${timesIdeal(rows[leaves])} as long, because ` +
      'its sums take longer than the ops beside them. ';
  return first + then;
}

function fillTable() {
  const several = curves.length > 1;
  const rows = curves[0].rows.flatMap((_, i) => curves.filter(({rows}) => i < rows.length).map(
      ({name, rows: {[i]: row}}) => [
        formatCount(row.ranks), ...(several ? [name] : []), formatBytes(bytesOf(row)),
        formatBytes(row.peak), formatBytes(row.sent_bytes), formatCount(row.sums),
        row.sums > 0 ? formatSeconds(row.sum_seconds) : '–', percentOf(hiddenOf(row)),
        formatSeconds(row.seconds), timesIdeal(row)
      ]));
  const heads = [
    'Ranks', ...(several ? ['Program'] : []), 'Bytes of a rank', 'of them planned', 'Sends', 'Sums',
    'They take', 'Hidden', 'Step', 'Against ideal'
  ];
  byId('table').append(makeTable(heads, heads.map((head) => (head === 'Program' ? '' : 'number')), rows));
}

const last = curves[0].rows.at(-1);
byId('verdict').textContent =
    `On ${formatCount(last.ranks)} ranks a step takes ${formatSeconds(last.seconds)}, ` +
    `${timesIdeal(last)} the ${formatSeconds(ideal)} of one rank, and learns from ` +
    `${formatCount(last.ranks)} batches.`;
byId('what-to-see').textContent = whatToSee(curves[0]) +
    'A sum of b bytes on N ranks sends 2 (N − 1) messages of b / N bytes. So a rank never sends more ' +
    'than 2 b bytes, but each rank more adds messages, and their latency bends the curve in the end.';
byId('link').textContent = `A link carries ${formatBytes(data.bandwidth)} a second and takes ` +
    `${formatSeconds(data.latency)} for each message. Ops take seconds ${data.seconds_source}.`;
if (curves.length > 1) {
  byId('legend').append(...curves.map(
      ({name, colour, width, dash}) => element('span', {}, lineSwatch(colour, width, dash), name)));
}
byId('legend').append(element('span', {}, lineSwatch('ink', 1.4, [6, 4]), 'ideal'));
new RankChart(byId('seconds-chart'), {
  label: 'Seconds of a step over the ranks, both axes logarithmic',
  of: (row) => row.seconds,
  format: formatSeconds,
  ideal,
});
new RankChart(byId('hidden-chart'), {
  label: 'Share of the seconds of sums that ops hide, over the ranks',
  of: hiddenOf,
  format: (share) => formatPercent(share).replace(/\.0+ /, ' '),
  most: 1,
});
new RankChart(byId('bytes-chart'), {
  label: 'Bytes of a rank over the ranks',
  of: bytesOf,
  format: formatBytes,
});
fillTable();
