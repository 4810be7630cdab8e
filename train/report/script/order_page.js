// The page of one step: the program's sequence, another one, and why no order needs less.

const step = JSON.parse(byId('data').textContent);

byId('order-after-title').textContent = `The order “${step.algorithm}”`;
new OrderPair('the other sequence').show(step);
fillCut(step);
byId('cut-title').hidden = step.sentence === '';
byId('verdict').textContent =
    `${formatCount(step.names.length)} ops; the program’s sequence needs ` +
    `${formatBytes(step.program)}, this order ${formatBytes(step.peak)}.${boundText(step)}`;
