// Requests a second of the hub, in a closed loop, in turns with a bare server that sends the same bytes: the health
// check, and the deployed bundle with its key and limits.
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { BundleDeployer } from '../suite/bundles.ts';
import { figureOf, maxLoaderShare, maxOtherCores } from '../suite/figures.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { type BareAnswer, RateProcess } from './request-rates.ts';
import { type RunOptions, slowParameter } from './scenario.ts';

/** A key has 6,000 requests a minute: so many share the load that none is refused. */
const keyCount = 60;
const connections = 64;
const bundleBytes = 1024;
const paths = ['/api/v1/health', '/api/v1/bundles/bench/current'] as const;
const texts = ['GET /api/v1/health', 'the deployed bundle, with key and limits'] as const;
const ids = ['health', 'bundle'] as const;

interface Round {
  readonly hub: readonly number[];
  readonly bare: readonly number[];
  readonly usages: readonly Usage[];
}

/** Without the headers that the native server writes itself. */
async function readAnswer(
  url: string,
  path: string,
  headers: { readonly [name: string]: string },
): Promise<BareAnswer> {
  const [response] = (await once(get(url + path, { headers: { ...headers } }), 'response')) as [
    IncomingMessage,
  ];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  const body = Buffer.concat(parts).toString();
  if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode} ${body}`);
  const pairs = response.rawHeaders.flatMap((name, n, raw) =>
    n % 2 === 0 ? [[name, raw[n + 1] ?? ''] as const] : [],
  );
  const ownHeaders = /^(content-length|connection|keep-alive|transfer-encoding|uwebsockets|date)$/i;
  return { path, headers: pairs.filter(([name]) => !ownHeaders.test(name)), body };
}

function figuresOf(rounds: readonly Round[], isDisturbed: boolean): Figure[] {
  return ids.map((id, n) =>
    figureOf({
      id: `requests.${id}`,
      what: `${texts[n]}, over ${connections} connections`,
      unit: 'requests/s',
      better: 'higher',
      rounds: rounds.map(({ hub }) => hub[n] ?? null),
      bound: {
        what: 'a bare uWebSockets.js server that sends the same bytes',
        rounds: rounds.map(({ bare }) => bare[n] ?? 0),
      },
      isDisturbed,
    }),
  );
}

async function runOn(hub: Hub, load: RateProcess, bare: RateProcess, options: RunOptions): Promise<Scenario> {
  const { rounds: count, seconds, quiet, report } = options;
  const { admin, keys } = await makeTenants(hub, 1);
  while (keys.length < keyCount) keys.push(await admin.newKey());
  await new BundleDeployer(admin, keys[0] ?? '').deploy(bundleBytes);
  const callers = keys.map((key, n) => ({ Authorization: `Bearer ${key}`, 'X-Agent-Id': `agent-${n}` }));
  const answers = await Promise.all(paths.map((path) => readAnswer(hub.url, path, callers[0] ?? {})));
  const bareUrl = `http://127.0.0.1:${await bare.serve(answers)}`;
  const measure = (url: string): Promise<number> => load.rate({ url, callers, connections, seconds });
  const rounds: Round[] = [];
  for (let n = 0; n < count; n++) {
    await waitUntilQuiet(quiet);
    const round: { hub: number[]; bare: number[]; usages: Usage[] } = { hub: [], bare: [], usages: [] };
    for (const path of paths) {
      const early = n % 2 === 1 ? await measure(bareUrl + path) : null;
      const endUsage = startUsage(hub.pid, [load.pid]);
      round.hub.push(await measure(hub.url + path));
      round.usages.push(endUsage());
      round.bare.push(early ?? (await measure(bareUrl + path)));
    }
    rounds.push(round);
    report(`round ${n + 1} of ${count}: ${Math.round(round.hub[0] ?? 0)} requests/s`, (n + 1) / count);
  }
  const usages = rounds.flatMap((round) => round.usages);
  const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
  const busiest = medianOrNull(usages.map((usage) => coresOf(usage.busiestClientMs, usage)));
  const hasOthers = others !== null && others > maxOtherCores;
  const isClientBusy = busiest !== null && busiest > maxLoaderShare;
  return {
    name: 'requests',
    parameters: { seconds, connections, ...slowParameter(options) },
    skipped: null,
    limited_by: hasOthers ? 'others' : isClientBusy ? 'client' : 'hub',
    load: loadOf(usages),
    figures: figuresOf(rounds, hasOthers || isClientBusy),
    rivals: [],
  };
}

export async function runRequests(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options);
  const [load, bare] = [new RateProcess(), new RateProcess()];
  try {
    return await runOn(hub, load, bare, options);
  } finally {
    load.stop();
    bare.stop();
    await hub.stop();
  }
}
