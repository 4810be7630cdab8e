// One tooltip for all charts, and announcements for screen readers.

function tooltipContent(category, title, rows) {
  const head = element('strong', {}, title);
  if (category !== null) head.prepend(colourSwatch(category));
  const body =
      rows.filter(([, value]) => value !== '')
          .map(
              ([name, value]) =>
                  element('tr', {}, element('th', {scope: 'row'}, name), element('td', {}, value)));
  return [head, element('table', {}, element('tbody', {}, ...body))];
}

// Shows the tooltip beside the point, on the side where it fits.
function showTooltip(content, clientX, clientY) {
  const tooltip = byId('tooltip');
  tooltip.replaceChildren(...content);
  tooltip.hidden = false;
  const {width, height} = tooltip.getBoundingClientRect();
  const space = 16;
  const left = clientX + space + width < innerWidth ? clientX + space : clientX - space - width;
  const top = Math.min(clientY + space, innerHeight - height - 8);
  tooltip.style.left = `${Math.max(8, left)}px`;
  tooltip.style.top = `${Math.max(8, top)}px`;
}

function hideTooltip() {
  byId('tooltip').hidden = true;
}

function announce(content) {
  const [head, table] = content;
  const rows = [...table.querySelectorAll('tr')].map(
      (row) => [...row.cells].map((c) => c.textContent).join(' '));
  byId('announcer').textContent = `${head.textContent}: ${rows.join(', ')}`;
}
