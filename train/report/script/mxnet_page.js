// The page of the MXNet note: small steps, steps on lanes, and what strategies cost.

const data = JSON.parse(byId('data').textContent);
const number = 'number';

// Figures have numbers in the order in which they are made.
let figures = 0;
function figure(title, about, ...content) {
  figures += 1;
  return element(
      'figure', {className: 'note'},
      element('figcaption', {}, element('h3', {}, `${figures}. ${title}`), element('p', {}, about)),
      ...content);
}
const scrolling = (table) => element('div', {className: 'table-scroll'}, table);

const valuesOf = (picture) => scrolling(makeTable(
    ['Value', 'Bytes', 'Region', 'Where', 'In the box afterwards'],
    ['name', number, number, '', ''],
    picture.values.map(
        ({value, bytes, region, how, box}) => [value, formatBytes(bytes), String(region), how, box])));

function pictureFigure(told) {
  const drawn = graphPicture(told.drawing, told.drawing.plans[0]);
  drawn.style.maxWidth = `${drawn.viewBox.baseVal.width}px`;
  return figure(
      told.picture, `${told.about} ${formatBytes(told.peak)} instead of ${formatBytes(told.sum)}.`,
      drawn, valuesOf(told));
}

function lanesFigure(notes) {
  return figure(
      'Lanes and path colours',
      'Grey arrows are data. A dashed red arrow is an edge that only the plan adds: the op at its ' +
          'head waits until the op at its tail is done with the bytes.',
      ...notes.flatMap((note) => [
        element('h4', {}, note.picture), element('p', {className: 'reading'}, note.about),
        scrolling(plansTable(note)), element('div', {className: 'graphs'}, ...graphFigures(note.drawing)),
      ]));
}

function costsFigure({costs, workspace}) {
  const names = ['none', 'back-propagation', 'in place', 'sharing', 'both', 'forward only'];
  const peakOf = (row, name) => row.strategies.find(({strategy}) => strategy === name).planned;
  return figure(
      'What a training step costs',
      `${formatCount(costs[0].batch_size)} images or sentences, planned, without resident bytes; ` +
          `every convolution asks for ${formatBytes(workspace)} of workspace. The note says that ` +
          'training takes roughly half.',
      scrolling(makeTable(
          ['Network', ...names, 'Both saves'], ['name', ...names.map(() => number), number],
          costs.map((row) => [
            row.network, ...names.map((name) => formatBytes(peakOf(row, name))),
            formatPercent(row.saved)]))));
}

byId('note').append(
    ...data.pictures.map(pictureFigure), lanesFigure(data.lanes), costsFigure(data));
const saved = data.costs.map((row) => row.saved);
byId('verdict').textContent =
    `In-place writing and sharing together save ${formatPercent(Math.min(...saved))} to ` +
    `${formatPercent(Math.max(...saved))} of the training steps below.`;
