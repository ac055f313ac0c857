// The charts of a report, in the browser: every round is a point, the bound beside the figure, and percentile curves.
(() => {
  const { uPlot, reportData, document, matchMedia } = globalThis;
  // Paper has no folded parts, and tables hold all numbers.
  globalThis.addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details')) details.open = true;
  });
  // In a browser without a usable language, the library does not load, and the tables remain.
  if (typeof uPlot !== 'function') return;
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

  /** The rounds of a file share the left half of its place. */
  const placesOf = (count, file) =>
    Array.from({ length: count }, (_, at) => file + (at + 1) / (count + 1) / 2);

  function drawRounds(place, { files, unit }) {
    const counts = files.map(({ rounds, beside }) =>
      Math.max(rounds.length, ...beside.map((other) => other.rounds.length)),
    );
    const xs = counts.flatMap(placesOf);
    if (xs.length === 0) return;
    const valuesOf = (roundsOf) =>
      files.flatMap((file, n) => Array.from({ length: counts[n] }, (_, at) => roundsOf(file)[at] ?? null));
    const others = [...new Set(files.flatMap(({ beside }) => beside.map(({ name }) => name)))];
    const otherRounds = (name) => (file) => file.beside.find((other) => other.name === name)?.rounds ?? [];
    const labels = ['figure', ...others];
    const series = [{}, ...labels.map((label, n) => points(label, colors[n % colors.length]))];
    const data = [xs, valuesOf(({ rounds }) => rounds), ...others.map((name) => valuesOf(otherRounds(name)))];
    const names = (_, splits) =>
      splits.map((split) => (Number.isInteger(split) ? (files[split]?.file ?? '') : ''));
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
