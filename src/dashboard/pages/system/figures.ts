// Figures of the hub's health: polling interval, bounds and format.
import type { ValueAxis } from '../../ui/chart.ts';

/** Polling interval, in milliseconds: no frame announces the hub's health. */
export const refetchMs = 10_000;

/** A 99th percentile of the event loop's lag from which on the page reports a problem, in milliseconds. */
export const lagBoundMs = 100;

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

/** `0`, `512M`, `1.5G`: a label that fits beside a chart. */
const shortBytes = (value: number): string => bytes(value).replace(/(?:\.0)? (.?)i?B$/, '$1');

export const bytesAxis: ValueAxis = {
  steps: Array.from({ length: 50 }, (_, power) => 2 ** power),
  text: shortBytes,
};
