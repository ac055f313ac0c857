// The charts of a report, in the browser: every round is a point, the bound beside the figure, and percentile curves.
(() => {
  const { uPlot, reportData, document, matchMedia } = globalThis;
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const text = isDark ? '#9da7b3' : '#57606a';
  const grid = { stroke: isDark ? '#3d444d' : '#d0d7de', width: 1 };
  const colors = ['#0969da', '#bf3989', '#1a7f37', '#9a6700', '#8250df', '#cf222e'];
  const size = { width: 800, height: 260 };
  const axis = (label, values) => ({ label, stroke: text, grid, ticks: grid, ...(values ? { values } : {}) });
  const points = (label, stroke) => ({
    label,
    stroke,
    paths: () => null,
    points: { show: true, size: 7, stroke },
  });

  function drawRounds(place, { files, unit }) {
    const values = files.flatMap(({ rounds, bound }, n) =>
      Array.from({ length: Math.max(rounds.length, bound.length) }, (_, at) => ({
        x: n + (at + 1) / (Math.max(rounds.length, bound.length) + 1) / 2,
        figure: rounds[at] ?? null,
        bound: bound[at] ?? null,
      })),
    );
    if (values.length === 0) return;
    const names = (_, splits) =>
      splits.map((split) => (Number.isInteger(split) ? (files[split]?.file ?? '') : ''));
    const hasBound = values.some(({ bound }) => bound !== null);
    const series = [{}, points('figure', colors[0]), ...(hasBound ? [points('bound', colors[1])] : [])];
    const data = [values.map(({ x }) => x), values.map(({ figure }) => figure)];
    if (hasBound) data.push(values.map(({ bound }) => bound));
    const scales = { x: { time: false, range: [0, files.length] } };
    new uPlot({ ...size, scales, series, axes: [axis('', names), { ...axis(unit), size: 90 }] }, data, place);
  }

  function drawCurve(place, { files, percentiles }) {
    const curves = files.filter(({ curve }) => curve.length > 0);
    const x = percentiles.map((_, n) => n);
    const names = (_, splits) =>
      splits.map((split) => (Number.isInteger(split) ? `p${percentiles[split] ?? ''}` : ''));
    const series = [
      {},
      ...curves.map(({ file }, n) => ({ label: file, stroke: colors[n % colors.length], width: 2 })),
    ];
    const options = {
      ...size,
      scales: { x: { time: false } },
      series,
      axes: [axis('', names), { ...axis('ms'), size: 90 }],
    };
    new uPlot(options, [x, ...curves.map(({ curve }) => curve)], place);
  }

  for (const figure of reportData) {
    for (const place of document.querySelectorAll('[data-rounds]')) {
      if (place.dataset.rounds === figure.id) drawRounds(place, figure);
    }
    for (const place of document.querySelectorAll('[data-curve]')) {
      if (place.dataset.curve === figure.id) drawCurve(place, figure);
    }
  }
})();
