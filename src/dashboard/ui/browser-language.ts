// Must be imported before uPlot, which passes the browser's language to Intl when it loads. On a machine without a
// locale, Chromium reports `en-US@posix`. Intl rejects it, and uPlot would draw nothing.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}
