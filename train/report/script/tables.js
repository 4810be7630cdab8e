// The comparison of allocators.

const measured = (value, format) =>
    value === null ? element('span', {title: 'not measured'}, '–') : format(value);

// The peak that the allocator needs once it runs steadily.
const steadyBytes = (row) => row.peak_reserved_after_switch ?? row.peak_reserved;

// "−3.2 MiB, −18.0 %" against the baseline.
function savingCell(row, baseline) {
  const [bytes, least] = [steadyBytes(row), steadyBytes(baseline)];
  if (bytes === null || least === null || least === 0) return measured(null);
  if (row === baseline) return element('span', {}, 'baseline');
  const saved = least - bytes;
  const sign = saved > 0 ? '−' : saved < 0 ? '+' : '±';
  const className = saved > 0 ? 'good' : saved < 0 ? 'bad' : '';
  return element(
      'span', {className},
      `${sign}${formatBytes(Math.abs(saved))}, ${sign}${formatSaving(Math.abs(saved) / least)}`);
}

function comparisonCells(row, baseline, widest) {
  const bar = element('i', {style: `width: ${100 * (steadyBytes(row) ?? 0) / widest}%`});
  return [
    row.how === '' ? row.allocator : element('span', {}, row.allocator, element('small', {}, row.how)),
    measured(row.peak_reserved, formatBytes),
    row.peak_reserved_after_switch === null ? '' : formatBytes(row.peak_reserved_after_switch),
    row.peak_reserved === null ? '' : bar,
    savingCell(row, baseline),
    measured(row.resident_bytes, formatBytes),
    measured(row.gap_to_lower_bound, formatPercent),
    measured(row.device_allocations_after_switch, formatCount),
    measured(row.calls_per_step, formatCount),
    measured(row.allocate_ns_median, formatNanoseconds),
    measured(row.step_seconds_median, formatSeconds),
  ];
}

const kEquality = {
  true: 'Losses and parameters were equal bit for bit under every allocator: ' +
      'only the memory changed.',
  false: 'Losses or parameters were not equal bit for bit under every allocator: ' +
      'do not trust this run.',
};

function fillComparison({comparison, bit_equal}, baseline) {
  byId('comparison-section').hidden = false;
  if (bit_equal !== null) byId('equality').textContent = kEquality[bit_equal];
  const widest = largest(comparison.map((row) => steadyBytes(row) ?? 0), 1);
  const number = 'number';
  const table = makeTable(
      [
        'Allocator', 'Reserved peak', 'After the switch', '', `Against ${baseline.allocator}`, 'Resident', 'Gap',
        'Device allocations after the switch', 'Calls per step', 'Per allocation', 'Step'
      ],
      ['name', number, number, 'bar', number, number, number, number, number, number, number],
      comparison.map((row) => comparisonCells(row, baseline, widest)));
  [...table.tBodies[0].rows].forEach((row, i) => {
    if (comparison[i].allocator === 'planned') row.className = 'winner';
  });
  byId('comparison').append(table);
}

function fillProcess(rows) {
  byId('process-section').hidden = false;
  byId('process').append(makeTable(
      ['', 'Now', 'At its peak'], ['name', 'number', 'number'],
      rows.map(([name, now, peak]) => [name, formatBytes(now), measured(peak, formatBytes)])));
}
