// The icons: one set of strokes on a 20 px grid. Screen readers skip them, so each icon has a word beside it or a label
// around it.
import type { JSX } from 'react';

const paths = {
  home: 'M3 9.5 10 3l7 6.5V17h-5v-4.5H8V17H3z',
  approvals: 'M7 9.5 9.5 12 14 6.5M10 2.5l6 2.2v5c0 3.6-2.4 6.4-6 7.8-3.6-1.4-6-4.2-6-7.8v-5z',
  events: 'M3 5h14M3 10h14M3 15h9',
  contracts: 'M5 2.5h7l3 3v12H5zM12 2.5v3h3M7.5 10h5M7.5 13h5',
  compositions: 'M10 3l7 3.5-7 3.5-7-3.5zM3 10l7 3.5 7-3.5M3 13.5 10 17l7-3.5',
  bundles: 'M3 6.5 10 3l7 3.5v7L10 17l-7-3.5zM3 6.5 10 10l7-3.5M10 10v7',
  agents: 'M5 7h10v8H5zM10 4v3M8 11h.01M12 11h.01M3 10v2M17 10v2',
  tools: 'M12.5 3a4 4 0 0 0-3.8 5.2L3 14v3h3l5.8-5.7A4 4 0 0 0 17 7.5l-2.5 2-2.5-2 2-2.5z',
  playground: 'M4 4v12l12-6z',
  runs: 'M4 5h4v4H4zM12 11h4v4h-4zM8 7h4a2 2 0 0 1 2 2v2',
  rulesets: 'M4 4h12v4H4zM4 12h12v4H4zM7 6h.01M7 14h.01',
  audit: 'M5 3h10v14l-2.5-1.5L10 17l-2.5-1.5L5 17zM8 7h4M8 10h4',
  keys: 'M12.5 3.5a4 4 0 1 1-2.6 7L4 16.5V14h2v-2h2l1-1.2a4 4 0 0 1 3.5-7.3zM13.5 7h.01',
  channels: 'M4 12V8l9-4v12l-9-4zM6 12.5V16h2.5v-2.5M15.5 8a3 3 0 0 1 0 4',
  settings: 'M4 6h7M15 6h1M4 14h1M9 14h7M13 4v4M7 12v4',
  system: 'M3 4h14v5H3zM3 11h14v5H3zM6 6.5h.01M6 13.5h.01',
  check: 'M4 10.5 8 14.5 16 5.5',
  x: 'M5 5l10 10M15 5 5 15',
  slash: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM5.2 5.2l9.6 9.6',
  hand:
    'M7 10V5a1.2 1.2 0 0 1 2.4 0v4M9.4 9V3.8a1.2 1.2 0 0 1 2.4 0V9M11.8 9V5.2a1.2 1.2 0 0 1 2.4 0V12c0 3-1.8 5-4.6 ' +
    '5-2.4 0-3.4-1.2-4.6-3.6L3.7 11c-.4-1 .9-1.7 1.6-.9L7 12',
  eye: 'M2.5 10S5 5 10 5s7.5 5 7.5 5-2.5 5-7.5 5-7.5-5-7.5-5zM10 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4z',
  triangle: 'M10 3.5 17.5 16h-15zM10 8v4M10 14h.01',
  dash: 'M5 10h10',
  search: 'M9 3.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM13 13l4 4',
  more: 'M4.5 10h.01M10 10h.01M15.5 10h.01',
  down: 'M5 7.5 10 12.5 15 7.5',
  right: 'M7.5 5 12.5 10 7.5 15',
  up: 'M5 12.5 10 7.5 15 12.5',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  person: 'M10 3a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM4 17c0-3.3 2.7-5.5 6-5.5s6 2.2 6 5.5',
  sun: 'M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M15.3 4.7l-1 1M5.7 14.3l-1 1',
  keyboard: 'M2.5 5.5h15v9h-15zM5.5 8.5h.01M8.5 8.5h.01M11.5 8.5h.01M14.5 8.5h.01M6 11.5h8',
  plus: 'M10 4v12M4 10h12',
  pause: 'M7 4v12M13 4v12',
  play: 'M6 4v12l10-6z',
  download: 'M10 3v10M6 9.5 10 13.5 14 9.5M4 17h12',
  upload: 'M10 14V4M6 7.5 10 3.5 14 7.5M4 17h12',
  trash: 'M4 6h12M8 6V4h4v2M6 6l.7 11h6.6L14 6M8.7 9v5M11.3 9v5',
  grip: 'M8 5h.01M12 5h.01M8 10h.01M12 10h.01M8 15h.01M12 15h.01',
  menu: 'M3 5h14M3 10h14M3 15h14',
  bell: 'M10 3a4.5 4.5 0 0 0-4.5 4.5c0 4-1.5 5-1.5 6h12c0-1-1.5-2-1.5-6A4.5 4.5 0 0 0 10 3zM8.3 16a1.8 1.8 0 0 0 3.4 0',
  refresh: 'M16 10a6 6 0 1 1-1.8-4.3M16 3v3.5h-3.5',
  clock: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4l2.5 2',
  lock: 'M5.5 9h9v7h-9zM7.5 9V6.5a2.5 2.5 0 0 1 5 0V9',
  columns: 'M3 4h14v12H3zM8 4v12M12.5 4v12',
  terminal: 'M3 4h14v12H3zM6 8l2.5 2L6 12M10.5 12.5H14',
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({
  name,
  size = 16,
}: {
  readonly name: IconName;
  readonly size?: 16 | 20;
}): JSX.Element => (
  <svg className="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
    <path d={paths[name]} />
  </svg>
);
