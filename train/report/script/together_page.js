// The page of one step under all works: curves of bytes, and a table.

const data = JSON.parse(byId('data').textContent);

const kColours = [
  'activation', 'gradient', 'workspace', 'parameter-gradient', 'input', 'temporary', 'optimizer',
  'state', 'bad'
];
const kDashes = [[], [7, 4], [2, 3]];
const nameOf = ({work, name}) => `${work}: ${name}`;

function drawCurves() {
  const curves = [
    {name: 'alive', bytes: data.live},
    ...data.rows.map((row) => ({name: nameOf(row), bytes: row.curve})),
  ];
  const looks = Object.fromEntries(data.rows.map((row, i) => [nameOf(row), {
    colour: kColours[i % kColours.length],
    width: row.work === 'Skyline' ? 2.4 : 1.5,
    dash: kDashes[Math.floor(i / kColours.length) % kDashes.length]
  }]));
  looks.alive = {colour: 'ink', width: 1, dash: [1, 2]};
  const chart = new CurvesChart(byId('curves'), curves, {
    looks,
    label: 'Bytes that each work has taken, over one step',
    axis: '',
    titleOf: (part) => `After ${formatPercent((part + 1) / data.live.length)} of the step`,
  });
  fillCurvesLegend(byId('curves-legend'), chart);
}

function fillTable() {
  const number = 'number';
  byId('works').append(makeTable(
      [
        'Work', 'Row', 'Bytes', 'Above the bound', 'Device calls', 'Later ones', 'A request',
        'Needs', 'Another shape', 'Status', 'Adds'
      ],
      ['name', '', number, number, number, number, number, '', '', '', ''],
      data.rows.map((row) => [
        row.work, row.name, formatBytes(row.bytes), formatPercent(row.above_bound),
        formatCount(row.first_calls), formatCount(row.later_calls),
        formatNanoseconds(row.nanoseconds), row.needs, row.shapes, row.status, row.adds
      ])));
}

const most = data.rows.reduce((one, other) => other.bytes > one.bytes ? other : one);
byId('verdict').textContent =
    `No plan of the recorded step needs less than ${formatBytes(data.step_bound)}, none of any ` +
    `order less than ${formatBytes(data.bound)}; ${nameOf(most)} takes ${formatBytes(most.bytes)}.`;
drawCurves();
fillTable();
