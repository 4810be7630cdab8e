// Series over the steps of a run. A point stands for `per` steps: one in short runs, more in long
// ones, so that the page stays small.

// Returns typed arrays with one value a point; NaN means not measured.
function readSeries({steps, per, mean, least, most}) {
  const numbers = (values) => Float64Array.from(values, (value) => value ?? NaN);
  const means = numbers(mean);
  return {
    steps,
    per,
    mean: means,
    least: least === undefined ? means : numbers(least),
    most: most === undefined ? means : numbers(most),
  };
}

const isMeasured = (value) => !Number.isNaN(value);

// "3 KiB", or "3 KiB to 4 KiB" if the steps of a point differ. `index` counts steps from 0.
function seriesText({steps, per, least, most}, index, format) {
  const point = Math.floor(index / per);
  if (index >= steps || !isMeasured(least[point])) return 'not measured';
  const [low, high] = [format(least[point]), format(most[point])];
  return low === high ? low : `${low} to ${high}`;
}

// "Step 7", or "Steps 65 to 128" if a point stands for more. Steps count from `first`.
function stepsTitle(index, per, first, count) {
  if (per === 1) return `Step ${formatCount(index + first)}`;
  const begin = Math.floor(index / per) * per;
  const end = Math.min(begin + per, count) - 1;
  return `Steps ${formatCount(begin + first)} to ${formatCount(end + first)}`;
}

// Summarises the points in each column of pixels from `x` to `end`: count, sum, minimum, maximum.
// `begins` marks the first column after a gap.
function pixelColumns(chart, {steps, per, mean, least, most}) {
  const {first} = chart.steps;
  const begin = Math.floor(Math.max(0, Math.floor(chart.from) - first) / per);
  const end = Math.ceil(Math.min(steps, Math.ceil(chart.to) - first) / per);
  const columns = [];
  let gap = true;
  for (let i = begin; i < end; ++i) {
    if (!isMeasured(mean[i])) {
      gap = true;
      continue;
    }
    const x = chart.x(first + i * per);
    const next = chart.x(first + Math.min((i + 1) * per, steps));
    const column = columns.at(-1);
    if (!gap && Math.floor(column.x) === Math.floor(x)) {
      column.least = Math.min(column.least, least[i]);
      column.most = Math.max(column.most, most[i]);
      column.sum += mean[i];
      column.count += 1;
      column.end = next;
    } else {
      columns.push(
          {x, end: next, least: least[i], most: most[i], sum: mean[i], count: 1, begins: gap});
    }
    gap = false;
  }
  return columns;
}
