// The agent library: what a guarded call, the gate and the MCP proxy cost beside the same without them. No hub.
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { mergeLatencies } from '../suite/histogram.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario, Target } from '../suite/results.ts';
import { guardedAtOnce, LibraryCalls, type LibraryWay, type WayResult } from './library-calls.ts';
import { percentileOf } from './open-rounds.ts';
import type { RunOptions } from './scenario.ts';

type Round = { readonly [way in LibraryWay]: WayResult };

/** Calls in a second of `--seconds`. */
const callsOfSecond: { readonly [way in LibraryWay]: number } = { guard: 2000, gate: 2, mcp: 100 };
const ways = ['guard', 'gate', 'mcp'] as const;

interface WayForm {
  readonly way: LibraryWay;
  readonly what: string;
  readonly bound: string;
  readonly unit: string;
  /** Units in a microsecond. */
  readonly scale: number;
  readonly target?: Target;
}

const forms: readonly WayForm[] = [
  {
    way: 'guard',
    what: 'a guarded call of a tool that does nothing, 100 contracts, mean of a hundred',
    bound: 'the tool alone',
    unit: 'µs',
    scale: 1 / guardedAtOnce,
  },
  {
    way: 'gate',
    what: 'reeve-agent gate from its start to the verdict, 100 contracts',
    bound: 'a Node process that does nothing',
    unit: 'ms',
    scale: 1 / 1000,
    target: { at_most: 150, of: 'value' },
  },
  {
    way: 'mcp',
    what: 'a tool call through reeve-agent mcp, 100 contracts',
    bound: 'the same client and server without the proxy',
    unit: 'ms',
    scale: 1 / 1000,
  },
];

const medianOf = (latencies: string, scale: number): number => percentileOf(latencies, 50) * 1000 * scale;

function figuresOf(rounds: readonly Round[], isDisturbed: boolean): Figure[] {
  const figures = forms.map(({ way, what, bound, unit, scale, target }) =>
    figureOf({
      id: `library.${way}`,
      what: `${what}, median`,
      unit,
      better: 'lower',
      rounds: rounds.map((round) => medianOf(round[way].governed, scale)),
      bound: { what: bound, rounds: rounds.map((round) => medianOf(round[way].bare, scale)) },
      ...(target === undefined ? {} : { target }),
      isDisturbed,
      ...(way === 'guard' ? {} : { histogram: mergeLatencies(rounds.map((round) => round[way].governed)) }),
    }),
  );
  const added = figureOf({
    id: 'library.mcp_added',
    what: 'median of a tool call through the proxy − median without it',
    unit: 'ms',
    better: 'lower',
    rounds: rounds.map(({ mcp }) =>
      Math.max(0, medianOf(mcp.governed, 1 / 1000) - medianOf(mcp.bare, 1 / 1000)),
    ),
    target: { at_most: 2, of: 'value' },
    isDisturbed,
  });
  return [...figures, added];
}

export async function runLibrary({ rounds: count, seconds, quiet, report }: RunOptions): Promise<Scenario> {
  const calls = new LibraryCalls();
  const rounds: Round[] = [];
  const usages: Usage[] = [];
  const measure = (way: LibraryWay): Promise<WayResult> =>
    calls.measure({ way, calls: Math.max(2, Math.round(callsOfSecond[way] * seconds)) });
  try {
    for (let n = 0; n < count; n++) {
      await waitUntilQuiet(quiet);
      const results: [LibraryWay, WayResult][] = [];
      for (const way of ways) {
        const endUsage = startUsage(calls.pid, []);
        results.push([way, await measure(way)]);
        // The others start processes, which would count as other work.
        if (way === 'guard') usages.push(endUsage());
      }
      rounds.push(Object.fromEntries(results) as Round);
      report(`round ${n + 1} of ${count}`, (n + 1) / count);
    }
  } finally {
    calls.stop();
  }
  const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
  const isDisturbed = others !== null && others > maxOtherCores;
  return {
    name: 'library',
    parameters: { seconds },
    skipped: null,
    limited_by: isDisturbed ? 'others' : 'none',
    load: loadOf(usages),
    figures: figuresOf(rounds, isDisturbed),
    rivals: [],
  };
}
