// The figures of the console's rounds, with what they must reach.
import { figureOf } from '../suite/figures.ts';
import type { Figure, Target } from '../suite/results.ts';

export const otherDashboards = 199;
export const tailEventsPerSecond = 1000;
export const socketEventsPerSecond = 200;
export const facets = ['Tool', 'Contract', 'Agent'] as const;

export interface Round {
  readonly homeMs: number;
  readonly homeWholeMs: number;
  readonly firstLoadKb: number;
  readonly decisionMs: number;
  readonly filterMs: readonly number[];
  readonly pageChangeMs: number;
  readonly matrixMs: number;
  /** Of ten queries: the slowest of those that read no arguments, and of those that do. */
  readonly queryMs: number;
  readonly textQueryMs: number;
  readonly searchedBackMs: number;
  readonly scrolledEvents: Scrolled;
  readonly scrolledAgents: Scrolled;
  readonly scrolledInbox: Scrolled;
  readonly frameGapMs: number;
  readonly longestTaskMs: number;
  readonly tailObjectsMib: number;
  readonly socketCores: number | null;
}

/** Frames while a list scrolls: the p95 of their gaps ÷ that of the page at rest, and the longest task. */
export interface Scrolled {
  readonly ratio: number;
  readonly longest: number;
}

interface Form {
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  readonly atMost?: number;
  readonly value: (round: Round) => number | null;
}

const forms: readonly Form[] = [
  { id: 'home', what: 'Home usable, empty cache', unit: 'ms', atMost: 1000, value: ({ homeMs }) => homeMs },
  { id: 'home_charts', what: 'charts of Home', unit: 'ms', value: ({ homeWholeMs }) => homeWholeMs },
  { id: 'first_load', what: 'first load', unit: 'KB', atMost: 200, value: ({ firstLoadKb }) => firstLoadKb },
  {
    id: 'decision',
    what: "another person's decision on the screen, median of a round",
    unit: 'ms',
    atMost: 150,
    value: ({ decisionMs }) => decisionMs,
  },
  ...facets.map((facet, n) => ({
    id: `filter_${facet.toLowerCase()}`,
    what: `from a filter to its rows (${facet})`,
    unit: 'ms',
    atMost: 300,
    value: ({ filterMs }: Round) => filterMs[n] ?? null,
  })),
  {
    id: 'page_change',
    what: 'from a link to the heading of its page, slowest of six',
    unit: 'ms',
    atMost: 150,
    value: ({ pageChangeMs }) => pageChangeMs,
  },
  {
    id: 'matrix',
    what: 'from a link to the matrix',
    unit: 'ms',
    atMost: 300,
    value: ({ matrixMs }) => matrixMs,
  },
  {
    id: 'query',
    what: 'from a query to its rows, slowest of seven',
    unit: 'ms',
    atMost: 300,
    value: ({ queryMs }) => queryMs,
  },
  {
    id: 'text_query',
    what: 'from a verdict with a text to its rows, slowest of three',
    unit: 'ms',
    atMost: 300,
    value: ({ textQueryMs }) => textQueryMs,
  },
  {
    id: 'searched_back',
    what: 'from a rare text to "Searched back to"',
    unit: 'ms',
    atMost: 300,
    value: ({ searchedBackMs }) => searchedBackMs,
  },
  ...(
    [
      ['scrolledEvents', 'events'],
      ['scrolledAgents', 'agents'],
      ['scrolledInbox', 'approvals'],
    ] as const
  ).flatMap(([list, noun]): Form[] => {
    return [
      {
        id: `scrolled_${noun}`,
        what: `time between frames of scrolling ${noun} ÷ of the page at rest, p95`,
        unit: 'x',
        atMost: 1.1,
        value: (round) => round[list].ratio,
      },
      {
        id: `scrolled_${noun}_task`,
        what: `longest task of scrolling ${noun}`,
        unit: 'ms',
        atMost: 50,
        value: (round) => round[list].longest,
      },
    ];
  }),
  {
    id: 'frame_gap',
    what: `time between frames of the live tail at ${tailEventsPerSecond} events/s, p95`,
    unit: 'ms',
    atMost: 33,
    value: ({ frameGapMs }) => frameGapMs,
  },
  {
    id: 'longest_task',
    what: 'longest task of the live tail',
    unit: 'ms',
    atMost: 100,
    value: ({ longestTaskMs }) => longestTaskMs,
  },
  {
    id: 'tail_objects',
    what: 'objects in the heap of the live tail',
    unit: 'MiB',
    value: ({ tailObjectsMib }) => tailObjectsMib,
  },
  {
    id: 'sockets',
    what: `cores that ${otherDashboards} more dashboards cost the hub at ${socketEventsPerSecond} events/s`,
    unit: 'cores',
    atMost: 0.05,
    value: ({ socketCores }) => socketCores,
  },
];

/** The browser's processes count as other work, so a round beside real other work cannot be told: no bound on these. */
export function figuresOf(rounds: readonly Round[], isDisturbed: boolean): Figure[] {
  return forms.map(({ id, what, unit, atMost, value }) =>
    figureOf({
      id: `console.${id}`,
      what,
      unit,
      better: 'lower',
      rounds: rounds.map(value),
      ...(atMost === undefined ? {} : { target: { at_most: atMost, of: 'value' } satisfies Target }),
      isDisturbed,
    }),
  );
}
