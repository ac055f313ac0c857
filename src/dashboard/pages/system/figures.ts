// Figures of the hub's health: polling interval and format.

/** Polling interval, in milliseconds: no frame announces the hub's health. */
export const refetchMs = 10_000;

export const bytes = (value: number): string => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let rest = value;
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest >= 100 || unit === 0 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
};
