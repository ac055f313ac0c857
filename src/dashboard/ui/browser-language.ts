// Imported before uPlot, which gives the browser's language to Intl as soon as it is loaded: Chromium on a machine
// without a locale names one that Intl refuses (`en-US@posix`), and nothing would be drawn.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}
