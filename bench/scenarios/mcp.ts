// The MCP proxy in every pair of the protocol's eras, beside the client's own era without it; then beside a hub: calls
// that wait as tasks, and accepted definitions of tools.
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { mergeLatencies } from '../suite/histogram.ts';
import { makeTenants, openHub } from '../suite/hub.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { WriteAndHop, writeAndHopText } from './approval-bound.ts';
import { type Era, eras, McpCalls, type PairResult, type PlainResult } from './mcp-calls.ts';
import { McpProxies, type ProxyMemory, proxyBundle } from './mcp-proxies.ts';
import { percentileOf, secondsOfTail } from './open-rounds.ts';
import type { RunOptions } from './scenario.ts';

interface Round {
  readonly pairs: { readonly [pair: string]: PairResult };
  readonly plain: PlainResult;
}

/** Calls in a second of `--seconds`. */
const callsOfSecond = 50;
/** Decisions in a second of `--seconds`. */
const decisionsOfSecond = 10;
const pinnedProxies = 100;
const openHandles = 1000;
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
      rounds: rounds.map(({ pairs: { [name]: pair } }) =>
        Math.max(0, medianOf(pair?.governed) - medianOf(pair?.bare)),
      ),
      target: { at_most: 2, of: 'value' },
      isDisturbed,
    }),
  );
  const modernForm = { unit: 'ms', better: 'lower', target: { at_most: 1.2, of: 'ratio' } } as const;
  const boundText = `the same in ${words.legacy}`;
  const withSdk = figureOf({
    id: 'mcp.modern',
    what: `a tool call through the proxy in ${words.modern}, median, between the SDKs' clients and servers`,
    ...modernForm,
    rounds: rounds.map((round) => medianOf(round.pairs.modern_modern?.governed)),
    bound: {
      what: boundText,
      rounds: rounds.map((round) => medianOf(round.pairs.legacy_legacy?.governed)),
    },
    isDisturbed,
  });
  const plain = figureOf({
    id: 'mcp.modern_plain',
    what: `a tool call through the proxy in ${words.modern}, median, between a client and a server without an SDK`,
    ...modernForm,
    rounds: rounds.map((round) => medianOf(round.plain.modern)),
    bound: { what: boundText, rounds: rounds.map((round) => medianOf(round.plain.legacy)) },
    isDisturbed,
  });
  return [...added, withSdk, plain];
}

interface HubRound {
  /** Latencies. */
  readonly decision: string;
  readonly bound: string;
  readonly accept: string;
  readonly handles: ProxyMemory;
}

const megabyte = 1_000_000;

function hubFiguresOf(rounds: readonly HubRound[], isDisturbed: boolean): Figure[] {
  const decision = figureOf({
    id: 'mcp.decision_p99',
    what: "decision → the result in the client's tasks/get, p99",
    unit: 'ms',
    better: 'lower',
    rounds: rounds.map((round) => percentileOf(round.decision, 99)),
    bound: { what: writeAndHopText, rounds: rounds.map(({ bound }) => percentileOf(bound, 99)) },
    target: { at_most: 250, of: 'value' },
    isDisturbed,
    histogram: mergeLatencies(rounds.map((round) => round.decision)),
  });
  const accept = figureOf({
    id: 'mcp.accept_p99',
    what: `accepted definition of a tool → each of ${pinnedProxies} proxies allows it, p99`,
    unit: 'ms',
    better: 'lower',
    rounds: rounds.map((round) => percentileOf(round.accept, 99)),
    target: { at_most: 1000, of: 'value' },
    isDisturbed,
    histogram: mergeLatencies(rounds.map((round) => round.accept)),
  });
  const memoryForm = { unit: 'MB', better: 'lower' } as const;
  const held = figureOf({
    id: 'mcp.handles_memory',
    what: `memory that a proxy holds with ${openHandles} open tasks − without them, after a collection of garbage`,
    ...memoryForm,
    rounds: rounds.map(({ handles }) => handles.heldBytes / megabyte),
    target: { at_most: 50, of: 'value' },
    // It does not depend on other work.
    isDisturbed: false,
  });
  const resident = figureOf({
    id: 'mcp.handles_rss',
    what: `resident memory of a proxy with ${openHandles} open tasks − without them, with its garbage`,
    ...memoryForm,
    rounds: rounds.map(({ handles }) => handles.residentBytes / megabyte),
  });
  return [decision, accept, held, resident];
}

/** Rounds of the proxy beside a hub. */
async function runBesideHub(options: RunOptions, usages: Usage[]): Promise<readonly HubRound[]> {
  const { rounds: count, seconds, quiet, report } = options;
  const hub = await openHub(options, { settings: { APPROVALS_PER_MINUTE: '100000' } });
  const proxies = new McpProxies();
  const bound = new WriteAndHop();
  try {
    const { admin, keys } = await makeTenants(hub, 1);
    const { version } = await admin.call<{ readonly version: number }>('POST', '/api/v1/bundles', {
      yaml_content: proxyBundle,
    });
    await admin.call('POST', `/api/v1/bundles/bench/${version}/deploy`, { env: 'production' });
    const access = { url: hub.url, key: keys[0] ?? '', cookie: admin.cookie() };
    const decisionSeconds = secondsOfTail(decisionsOfSecond, seconds);
    const decisions = Math.max(2, Math.round(decisionsOfSecond * decisionSeconds));
    const accepts = Math.max(1, Math.round(seconds));
    const rounds: HubRound[] = [];
    for (let n = 0; n < count; n++) {
      await waitUntilQuiet(quiet);
      const endUsage = startUsage(hub.pid, [proxies.pid, bound.pid]);
      const loop = { perSecond: decisionsOfSecond, seconds: decisionSeconds };
      const plan = { ...loop, writes: 1, folder: hub.dataFolder };
      rounds.push({
        bound: (await bound.measure(plan)).latencies,
        decision: await proxies.decisions(access, `decided-${n}`, decisions),
        accept: await proxies.accepts(access, `pinned-${n}`, pinnedProxies, accepts),
        handles: await proxies.handles(access, `open-${n}`, openHandles),
      });
      usages.push(endUsage());
      report(`beside a hub: round ${n + 1} of ${count}`, (1 + (n + 1) / count) / 2);
    }
    return rounds;
  } finally {
    proxies.stop();
    bound.stop();
    await hub.stop();
  }
}

async function runPairs({ rounds: count, seconds, quiet, report }: RunOptions, usages: Usage[]) {
  const calls = new McpCalls();
  const rounds: Round[] = [];
  try {
    for (let n = 0; n < count; n++) {
      await waitUntilQuiet(quiet);
      const results: [string, PairResult][] = [];
      const callCount = Math.max(2, Math.round(callsOfSecond * seconds));
      for (const { client, server, name } of pairs) {
        const endUsage = startUsage(calls.pid, []);
        results.push([name, await calls.measure({ client, server, calls: callCount })]);
        usages.push(endUsage());
      }
      const plain = await calls.measurePlain(callCount);
      rounds.push({ pairs: Object.fromEntries(results), plain });
      report(`round ${n + 1} of ${count}`, (n + 1) / count / 2);
    }
  } finally {
    calls.stop();
  }
  return rounds;
}

const areDisturbed = (usages: readonly Usage[]): boolean => {
  const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
  return others !== null && others > maxOtherCores;
};

export async function runMcp(options: RunOptions): Promise<Scenario> {
  const pairUsages: Usage[] = [];
  const rounds = await runPairs(options, pairUsages);
  const hubUsages: Usage[] = [];
  const hubRounds = await runBesideHub(options, hubUsages);
  const isDisturbed = areDisturbed(pairUsages);
  return {
    name: 'mcp',
    parameters: { seconds: options.seconds, proxies: pinnedProxies, handles: openHandles },
    skipped: null,
    limited_by: isDisturbed ? 'others' : 'none',
    load: loadOf(pairUsages),
    figures: [
      ...figuresOf(rounds, isDisturbed),
      // Proxies and their servers count as other work.
      ...hubFiguresOf(hubRounds, isDisturbed),
    ],
    rivals: [],
  };
}
