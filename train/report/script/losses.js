// The section of losses: training, and the figures of evaluations over the same steps.

const formatFigure = (value) => String(Number(value.toPrecision(6)));
const formatShare = (value) => `${Number((100 * value).toPrecision(4))} %`;

// The curve of a training loss. A point lies in the middle of its steps.
function lossCurve({name, steps, per, mean}, index, count) {
  const middle = (i) => (i * per + 1 + Math.min((i + 1) * per, steps)) / 2;
  return {
    name,
    xs: mean.map((_, i) => middle(i)),
    ys: mean,
    colour: curveColour(index),
    width: curveWidth(index, count),
    dots: false,
    valueAt: (step) => ({
      value: mean[Math.floor((step - 1) / per)] ?? null,
      note: per === 1 ? '' : `, mean of ${formatCount(per)} steps`,
    }),
  };
}

// The curve of one figure of the evaluations; its tooltip tells the last one before a step.
function evaluationCurve({name, values}, steps, colour) {
  return {
    name,
    xs: steps,
    ys: values,
    colour,
    width: 1.6,
    dots: true,
    valueAt: (step) => {
      const i = lastAtOrBefore(steps, step);
      return i < 0 ? {value: null, note: ''} :
                     {value: values[i], note: ` after step ${formatCount(steps[i])}`};
    },
  };
}

function addToLossLegend({name, colour, width}) {
  const swatch = lineSwatch(colour, Math.min(8, width));
  byId('loss-legend').append(element('span', {}, swatch, name));
}

// One chart for all shares, and one for each other figure, whose scales differ.
function fillQuality(metrics, steps, last) {
  const shares = metrics.filter(({kind}) => kind === 'share');
  const groups = metrics.filter(({kind}) => kind === 'number').map((metric) => [metric]);
  if (shares.length > 0) groups.unshift(shares);
  for (const group of groups) {
    const name = group.map((metric) => metric.name).join(', ');
    const host = element('div', {className: 'chart'});
    byId('quality').append(
        element('figure', {}, element('figcaption', {}, element('h3', {}, name)), host));
    const curves = group.map((metric, i) => evaluationCurve(metric, steps, curveColour(i)));
    const legend = element('div', {className: 'legend'});
    for (const {name, colour, width} of group.length > 1 ? curves : [])
      legend.append(element('span', {}, lineSwatch(colour, width), name));
    host.before(legend);
    const format = group[0].kind === 'share' ? formatShare : formatFigure;
    new CurveChart(host, {label: `${name} over steps`, height: 190, curves, last, format});
  }
}

function lossReading(per, evaluations) {
  const training = per === 1 ?
      'Training loss of each step.' :
      `Training loss: each point is the mean of ${formatCount(per)} steps.`;
  if (evaluations === undefined) return training;
  const {every} = evaluations;
  return `${training} Squares mark evaluations on data that the network is not trained on` +
      (every === 1 ? '.' : `; each of ${formatCount(every)} is shown.`);
}

// Returns the first point at which two curves differ; −1 if none does.
function firstDifference(curves) {
  const points = largest(curves.map((curve) => curve.mean.length), 0);
  for (let i = 0; i < points; ++i) {
    if (curves.some((curve) => curve.mean[i] !== curves[0].mean[i])) return i;
  }
  return -1;
}

function equalityReading(losses) {
  const point = firstDifference(losses);
  const {per, steps} = losses[0];
  const verdict = point < 0 ?
      'All curves are equal at every step and cover each other; the first is drawn widest.' :
      `The curves first differ at ${stepsTitle(point * per, per, 1, steps).toLowerCase()}.`;
  return `The place of a block must not change any result. ${verdict}`;
}

function fillLosses({losses, evaluations}) {
  byId('loss-section').hidden = false;
  const steps = evaluations?.steps ?? [];
  const metrics = evaluations?.metrics ?? [];
  const last = Math.max(largest(losses.map((curve) => curve.steps), 1), steps.at(-1) ?? 1);
  const named = losses.length > 1 ? losses : losses.map((curve) => ({...curve, name: 'training'}));
  const curves = named.map((curve, i) => lossCurve(curve, i, named.length));
  for (const metric of metrics.filter(({kind}) => kind === 'loss'))
    curves.push(evaluationCurve(metric, steps, curveColour(curves.length)));
  const per = largest(losses.map((curve) => curve.per), 1);
  byId('loss-reading').textContent = lossReading(per, evaluations);
  new CurveChart(
      byId('loss-chart'),
      {label: 'Loss over steps', height: 260, curves, last, format: formatFigure});
  if (curves.length > 1) curves.forEach(addToLossLegend);
  if (losses.length > 1) byId('loss-equality').textContent = equalityReading(losses);
  fillQuality(metrics, steps, last);
}
