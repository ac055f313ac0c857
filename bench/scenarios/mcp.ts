// The MCP proxy in every pair of the protocol's eras, beside the client's own era without it. No hub.
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure } from '../suite/results.ts';
import { type Era, eras, McpCalls, type PairResult } from './mcp-calls.ts';
import { percentileOf } from './open-rounds.ts';
import type { ScenarioProgram } from './scenario.ts';

type Round = { readonly [pair: string]: PairResult };

/** Calls in a second of `--seconds`. */
const callsOfSecond = 50;
const pairs = eras.flatMap((client) =>
  eras.map((server) => ({ client, server, name: `${client}_${server}` })),
);
const words: { readonly [era in Era]: string } = {
  legacy: 'revision 2025-11-25',
  modern: 'revision 2026-07-28',
};

/** In milliseconds. */
const medianOf = (latencies: string | undefined): number => percentileOf(latencies ?? '', 50);

function figuresOf(rounds: readonly Round[], isDisturbed: boolean): Figure[] {
  const added = pairs.map(({ client, server, name }) =>
    figureOf({
      id: `mcp.${name}_added`,
      what: `median of a tool call through the proxy − median without it, client of ${words[client]}, server of ${words[server]}`,
      unit: 'ms',
      better: 'lower',
      rounds: rounds.map((round) =>
        Math.max(0, medianOf(round[name]?.governed) - medianOf(round[name]?.bare)),
      ),
      target: { at_most: 2, of: 'value' },
      isDisturbed,
    }),
  );
  const modern = figureOf({
    id: 'mcp.modern',
    what: `a tool call through the proxy in ${words.modern}, median`,
    unit: 'ms',
    better: 'lower',
    rounds: rounds.map((round) => medianOf(round.modern_modern?.governed)),
    bound: {
      what: `the same in ${words.legacy}`,
      rounds: rounds.map((round) => medianOf(round.legacy_legacy?.governed)),
    },
    target: { at_most: 1.2, of: 'ratio' },
    isDisturbed,
  });
  return [...added, modern];
}

export const mcp: ScenarioProgram = {
  about: 'the MCP proxy in every pair of the eras of the protocol',
  ownHub: 'it measures no hub',
  async run({ rounds: count, seconds, quiet, report }) {
    const calls = new McpCalls();
    const rounds: Round[] = [];
    const usages: Usage[] = [];
    try {
      for (let n = 0; n < count; n++) {
        await waitUntilQuiet(quiet);
        const results: [string, PairResult][] = [];
        for (const { client, server, name } of pairs) {
          const endUsage = startUsage(calls.pid, []);
          const order = { client, server, calls: Math.max(2, Math.round(callsOfSecond * seconds)) };
          results.push([name, await calls.measure(order)]);
          usages.push(endUsage());
        }
        rounds.push(Object.fromEntries(results));
        report(`round ${n + 1} of ${count}`, (n + 1) / count);
      }
    } finally {
      calls.stop();
    }
    const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
    const isDisturbed = others !== null && others > maxOtherCores;
    return {
      name: 'mcp',
      parameters: { seconds },
      skipped: null,
      limited_by: isDisturbed ? 'others' : 'none',
      load: loadOf(usages),
      figures: figuresOf(rounds, isDisturbed),
      rivals: [],
    };
  },
};
