// The page of an evaluation: the matrix of classes and predictions, the worst pairs, the classes.

const data = JSON.parse(byId('data').textContent);

const kNumberedClasses = 40;  // larger matrices are drawn without their numbers
const kPicturePixels = 900;   // of such a drawing
const nameOf = (label) => data.classes[label].name;
const shareOf = (label, images) => images / Math.max(data.classes[label].images, 1);
const shareText = (share) => (share === null ? '–' : formatPercent(share));

// A cell's colour: the share of the class's images, wrong ones in another colour.
function colourOf(label, predicted, images) {
  const colour = label === predicted ? 'good' : 'bad';
  const percent = images === 0 ? 0 : 12 + 68 * shareOf(label, images);
  return `color-mix(in srgb, var(--${colour}) ${percent.toFixed(1)}%, transparent)`;
}

const cellText = (label, predicted, images) => `${nameOf(label)} taken for ${nameOf(predicted)}: ` +
    `${formatCount(images)} of ${formatCount(data.classes[label].images)}, ` +
    formatPercent(shareOf(label, images));

function countsByRow() {
  const rows = data.classes.map(() => new Map());
  for (const [label, predicted, images] of data.counts) rows[label].set(predicted, images);
  return rows;
}

function matrixTable(rows) {
  const labels = data.classes.map((_, label) => label);
  const cells = rows.map((row, label) => [
    `${label} ${nameOf(label)}`,
    ...labels.map((predicted) => formatCount(row.get(predicted) ?? 0).replace(/^0$/, '·')),
  ]);
  const table = makeTable(['class', ...labels.map(String)], ['name'], cells);
  [...table.tBodies[0].rows].forEach((tableRow, label) => {
    tableRow.cells[0].title = nameOf(label);
    labels.forEach((predicted) => {
      const images = rows[label].get(predicted) ?? 0;
      const cell = tableRow.cells[predicted + 1];
      cell.style.background = colourOf(label, predicted, images);
      cell.title = cellText(label, predicted, images);
      if (label === predicted) cell.className = 'right';
    });
  });
  labels.forEach((label) => { table.tHead.rows[0].cells[label + 1].title = nameOf(label); });
  return table;
}

// One square a cell, without numbers.
function matrixPicture(rows) {
  const classes = data.classes.length;
  const side = Math.max(1, Math.floor(kPicturePixels / classes));
  const canvas = element('canvas', {width: side * classes, height: side * classes});
  const context = canvas.getContext('2d');
  context.fillStyle = styleOf('raised');
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const [label, predicted, images] of data.counts) {
    context.globalAlpha = 0.3 + 0.7 * shareOf(label, images);
    context.fillStyle = styleOf(label === predicted ? 'good' : 'bad');
    context.fillRect(side * predicted, side * label, side, side);
  }
  byId('cell').hidden = false;
  canvas.addEventListener('mousemove', (event) => {
    const [predicted, label] = [event.offsetX, event.offsetY].map((at) => Math.floor(at / side));
    if (label < 0 || predicted < 0 || label >= classes || predicted >= classes) return;
    byId('cell').textContent = cellText(label, predicted, rows[label].get(predicted) ?? 0);
  });
  return canvas;
}

function pairPanel({label, predicted, images, pictures}) {
  const shown = pictures.map(({name, probability, image}) => element(
      'figure', {title: name}, element('img', {src: image, alt: name}),
      element('figcaption', {}, formatPercent(probability))));
  return element(
      'div', {},
      element(
          'h3', {}, `${nameOf(label)} taken for ${nameOf(predicted)} `,
          element('small', {}, `${formatCount(images)} of ${formatCount(data.classes[label].images)}`)),
      element('div', {className: 'pictures'}, ...shown));
}

function classRow({name, images, recall, precision, taken_for: taken, taken_images: often}) {
  const bar = element('i', {style: `width: ${100 * (recall ?? 0)}%`});
  return [
    name, formatCount(images), shareText(recall), bar, shareText(precision),
    taken === null ? '–' : `${taken} (${formatCount(often)})`
  ];
}

for (const [name, value] of data.facts) {
  byId('tiles').append(
      element('div', {className: 'tile'}, element('span', {}, name), element('strong', {}, value)));
}
const rows = countsByRow();
const numbered = data.classes.length <= kNumberedClasses;
byId('matrix-reading').textContent = 'A row is a class, a column what its images were taken for' +
    (numbered ? '; columns have the numbers of the classes.' : ', in the same order.') +
    ' The diagonal is right.';
byId('matrix').append(numbered ? matrixTable(rows) : matrixPicture(rows));
byId('pairs-section').hidden = data.pairs.length === 0;
byId('pairs').append(...data.pairs.map(pairPanel));
const number = 'number';
byId('classes').append(makeTable(
    ['Class', 'Images', 'Recall', '', 'Precision', 'Most often taken for'],
    ['name', number, number, 'bar', number, ''], data.classes.map(classRow)));
const worst = data.classes.filter(({recall}) => recall !== null)
                  .reduce((one, other) => (other.recall < one.recall ? other : one));
byId('verdict').textContent =
    `Least accurate: ${worst.name}, ${formatPercent(worst.recall)} of ` +
    `${formatCount(worst.images)} images.`;
