// Sets the theme before the first paint. A file of its own: the Content-Security-Policy allows no script in the page.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem('reeve.theme');
  } catch {
    // Storage may be refused: the system's choice counts then.
  }
  const dark =
    choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
