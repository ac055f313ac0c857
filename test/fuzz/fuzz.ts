// A run: starts a hub with the probe inside, sets tenants up, lets the players play for a time or a number of steps,
// and gathers the findings.
import { HubProcess } from '../e2e/process.ts';
import { OpenSockets } from './broken.ts';
import { handsOf } from './deck.ts';
import { type Finding, Findings } from './findings.ts';
import { Leaks, markerOf } from './leaks.ts';
import { type Game, Player } from './player.ts';
import { type Memory, openProbe, type Probe, type Stall } from './probe.ts';
import { isStream, operations } from './requests.ts';
import { noIds, Seen } from './seen.ts';
import { makeTenants, operatorToken } from './world.ts';

export interface Options {
  readonly seed: string;
  readonly seconds: number;
  /** Steps of each player, however long they take; null: as many as fit into the seconds. */
  readonly steps: number | null;
  /** Steps a second that each player may do. */
  readonly rate: number;
  /** The event loop may not stand still for longer. Milliseconds. */
  readonly stallMs: number;
  /** Findings are appended to it. */
  readonly file: string | null;
  /** Names the functions of a stall; slows the hub a little. */
  readonly profiled: boolean;
  /** Only these players, by name; null: all. */
  readonly only: readonly string[] | null;
  readonly told: (event: Progress | Finding) => void;
}

export interface Progress {
  readonly seconds: number;
  readonly steps: number;
  /** Answers by status, streams too. */
  readonly statuses: { readonly [status: string]: number };
  /** The longest stall of the hub's event loop since the last progress (ms). */
  readonly stallMs: number;
  /** MiB. */
  readonly rss: number;
  readonly heap: number;
  readonly findings: number;
}

export interface Report extends Progress {
  readonly seed: string;
  readonly found: readonly Finding[];
  /** Operations that never answered 2xx: what the run did not reach. */
  readonly unreached: readonly string[];
  /** Operations that nobody was answered by; a 401 for the credential is no answer. */
  readonly unanswered: readonly string[];
  /** MiB of heap after a garbage collection, at each pause. */
  readonly collected: readonly number[];
  /** The most resident memory. MiB. */
  readonly peakRss: number;
}

/**
 * Resident memory. The hub's own budgets of bytes on their way and of frames kept for replay make up half of it. MiB.
 */
const maxRss = 1536;
/**
 * Heap in use after a garbage collection: frames kept for replay fill it for some minutes, up to 16 MiB an audience.
 * MiB.
 */
const maxHeap = 400;
/** How much more of it may be in use at the end than half-way. MiB. */
const maxGrowth = 64;
const progressMs = 10_000;
const sleepCheckMs = 100;
/** The first pause, and the time between two. Milliseconds. */
const firstPauseMs = 15_000;
const pauseEveryMs = 300_000;
/** Bytes of large texts that may be sent a second, and altogether: what is stored stays. */
const largePerSecond = 12_000_000;
const largeTotal = 6_000_000_000;
const tenantNames = ['acme', 'bolt', 'core'];
const playersPerTenant = 4;
const mib = 1024 * 1024;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function fuzz(options: Options): Promise<Report> {
  const findings = new Findings(options.file, options.told);
  /** The time of the process's start and end does not count. */
  let isPlaying = false;
  let longestMs = 0;
  let last: Memory | null = null;
  let peakRss = 0;
  const probe = await openProbe(
    (report) => {
      if (report.kind === 'stall') {
        if (isPlaying) stalled(findings, report, options.stallMs);
        return;
      }
      last = report;
      longestMs = Math.max(longestMs, report.longestMs);
      peakRss = Math.max(peakRss, report.rss / mib);
      if (report.rss > maxRss * mib)
        findings.add(
          'memory',
          'resident',
          `over ${maxRss} MiB`,
          findings.during(Date.now() - 2000, Date.now()),
          Math.round(report.rss / mib),
        );
    },
    { profiled: options.profiled },
  );
  const hub = new HubProcess({
    ...probe.settings,
    OPERATOR_TOKEN: operatorToken,
    RATE_LIMIT_MAX_ATTEMPTS: '100000',
    TRUSTED_PROXIES: '127.0.0.1',
    LOG_LEVEL: 'error',
  });
  try {
    return await run();
  } finally {
    await hub.remove();
    probe.close();
  }

  async function run(): Promise<Report> {
    await hub.start();
    const tenants = await makeTenants(hub, options.seed, tenantNames);
    const node = await nodeOf(hub);
    watch(hub, findings, () => isPlaying);
    isPlaying = true;
    const statuses: { [status: string]: number } = {};
    const reached = new Set<string>();
    const answered = new Set<string>();
    const startedAt = Date.now();
    const sleep = watchSleep();
    let spent = 0;
    /** In a run of steps, the seconds that they would take at the rate: a busy machine sends as much as a quiet one. */
    const elapsedSeconds = (): number =>
      options.steps === null
        ? (Date.now() - startedAt) / 1000
        : Math.max(...players.map(({ steps }) => steps)) / options.rate;
    const game: Game = {
      seed: options.seed,
      port: hub.port,
      tenants,
      leaks: new Leaks(new Map(tenantNames.map((name) => [name, markerOf(options.seed, name)])), [node]),
      findings,
      sockets: new OpenSockets(),
      mayBeLarge: () => spent < elapsedSeconds() * Math.min(largePerSecond, largeTotal / options.seconds),
      spend: (bytes) => {
        spent += bytes;
      },
      counted(operation, status) {
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status < 300) reached.add(operation);
        if (status !== 401 || isOpenToAll(operation)) answered.add(operation);
      },
      isReached: (operation) => reached.has(operation),
      isAnswered: (operation) => answered.has(operation),
      sleptMs: sleep.ms,
    };
    const ids = noIds();
    const seats = tenants.flatMap((tenant) => {
      const seen = new Seen(tenant, tenants, ids);
      return Array.from({ length: playersPerTenant }, (_, i) => ({
        name: `${tenant.name}${i}`,
        tenant,
        seen,
      }));
    });
    const hands = handsOf(
      options.seed,
      seats.map(({ name }) => name),
    );
    const players = [
      ...seats.map(({ name, tenant, seen }) => new Player(game, name, tenant, seen, hands.get(name) ?? null)),
      ...['stranger0', 'stranger1'].map(
        (name) => new Player(game, name, null, new Seen(null, tenants, ids), null),
      ),
    ].filter(({ name }) => options.only === null || options.only.includes(name));
    const progress = (): Progress => {
      const steps = players.reduce((sum, { steps: done }) => sum + done, 0);
      const stallMs = longestMs;
      longestMs = 0;
      return {
        seconds: Math.round((Date.now() - startedAt) / 1000),
        steps,
        statuses: { ...statuses },
        stallMs,
        rss: Math.round((last?.rss ?? 0) / mib),
        heap: Math.round((last?.heap ?? 0) / mib),
        findings: findings.all.length,
      };
    };
    const timer = setInterval(() => options.told(progress()), progressMs);
    const collected: number[] = [];
    const endsAt = startedAt + options.seconds * 1000;
    for (let pauseAt = startedAt + firstPauseMs; isUp(hub); pauseAt += pauseEveryMs) {
      const until = Math.min(pauseAt, endsAt);
      const isDue = ({ steps }: Player): boolean =>
        options.steps === null ? Date.now() >= until : steps >= options.steps;
      await Promise.all(players.map((player) => keepStepping(player, isDue, options.rate, hub)));
      if (!isUp(hub)) break;
      const isLast = options.steps !== null || until === endsAt;
      if (isLast) await Promise.all(players.map((player) => player.settled()));
      collected.push(await heapLeft(probe));
      if (isLast) break;
    }
    clearInterval(timer);
    sleep.stop();
    isPlaying = false;
    game.sockets.endAll();
    await Promise.all(players.map((player) => player.settled()));
    judgeHeap(findings, collected);
    return {
      ...progress(),
      seed: options.seed,
      found: findings.all,
      unreached: players.length > 1 ? missingFrom(reached) : [],
      unanswered: players.length > 1 ? missingFrom(answered) : [],
      collected,
      peakRss: Math.round(peakRss),
    };
  }
}

/** True for an operation without a credential: its 401 is about what the request says. */
const isOpenToAll = (name: string): boolean =>
  operations.some((operation) => operation.name === name && operation.route.auth.length === 0);

/** How long this program got no processor, in gaps of over a second: a silence of the hub then proves nothing. */
function watchSleep(): { readonly ms: () => number; stop(): void } {
  let [total, last] = [0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    const gap = now - last - sleepCheckMs;
    if (gap > 1000) total += gap;
    last = now;
  }, sleepCheckMs);
  return { ms: () => total, stop: () => clearInterval(timer) };
}

/** Does steps until it is due to stop, not faster than the rate. */
async function keepStepping(
  player: Player,
  isDue: (player: Player) => boolean,
  rate: number,
  hub: HubProcess,
): Promise<void> {
  while (!isDue(player) && isUp(hub)) {
    const startedAt = Date.now();
    try {
      await player.step();
    } catch (error) {
      // A hub that is gone refuses connections; any other error is the program's own.
      if (!isUp(hub)) return;
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
    await pause(player.isHasty ? 0 : Math.max(0, startedAt + 1000 / rate - Date.now()));
  }
}

const isUp = ({ child }: HubProcess): boolean => child?.exitCode === null && child.signalCode === null;

async function heapLeft(probe: Probe): Promise<number> {
  const memory = await probe.collect();
  return Math.round((memory?.heap ?? 0) / mib);
}

/** @param collected MiB at each pause */
function judgeHeap(findings: Findings, collected: readonly number[]): void {
  const last = collected.at(-1) ?? 0;
  if (last > maxHeap) findings.add('memory', 'heap', `${last} MiB, garbage collected`, [], last);
  // Before that, what is kept for replay is still being filled.
  const halfWay = collected.length < 6 ? last : (collected[Math.floor(collected.length / 2)] ?? last);
  const growth = last - halfWay;
  if (growth > maxGrowth) findings.add('memory', 'growth', `${growth} MiB since half-way`, [], growth);
}

/**
 * A stall belongs to the request that came last before it began. Time in which others had the processors is not the
 * hub's doing; in which it neither ran nor waited for one (a disk, a machine that shares its processors) counts from
 * four times as much on.
 */
function stalled(findings: Findings, { at, lateMs, ranMs, waitedMs, functions }: Stall, max: number): void {
  if (ranMs < max && lateMs - ranMs - waitedMs < 4 * max) return;
  const from = at - lateMs;
  const steps = findings
    .during(from, at)
    .sort((a, b) => Math.abs(a.startedAt - from) - Math.abs(b.startedAt - from));
  const place = functions[0]?.replace(/^\d+ ms /, '') ?? steps[0]?.what ?? 'nobody asked anything';
  const what = [`${ranMs} ms, ${lateMs} ms with what it waited`, ...functions].join('; ');
  findings.add('stall', place, what, steps, ranMs);
}

/** Errors that the hub logs, and its end, are findings. */
function watch(hub: HubProcess, findings: Findings, isPlaying: () => boolean): void {
  let text = '';
  const take = (chunk: Buffer): void => {
    const lines = (text + chunk.toString()).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      if (!/"level":"(error|fatal)"/.test(line)) continue;
      const { msg = '', err } = JSON.parse(line) as {
        msg?: string;
        err?: { message: string; stack?: string };
      };
      const where =
        err?.stack
          ?.split('\n')
          .find((at) => /\/dist\//.test(at))
          ?.trim() ?? '';
      findings.add(
        'logged',
        `${msg}: ${err?.message ?? ''}`.slice(0, 120),
        `${where} ${line.slice(0, 1500)}`,
        [],
      );
    }
  };
  hub.child?.stdout?.on('data', take);
  hub.child?.stderr?.on('data', take);
  hub.child?.once('exit', (code, signal) => {
    if (!isPlaying()) return;
    const now = Date.now();
    findings.add(
      'died',
      'hub',
      `${code ?? signal}: ${hub.output.slice(-2000)}`,
      findings.during(now - 1000, now),
    );
  });
}

/** Setting up happens once, before the players begin; the others need an identity provider. */
const beyond: ReadonlySet<string> = new Set(['setup', 'oidcSignIn', 'oidcCallback', 'oidcLogout']);

const missingFrom = (names: ReadonlySet<string>): string[] =>
  operations
    .filter((operation) => !isStream(operation) && !beyond.has(operation.name))
    .map(({ name }) => name)
    .filter((name) => !names.has(name));

/** The id of the hub's node, which its operator sees. */
async function nodeOf(hub: HubProcess): Promise<string> {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  const { status, body } = await hub.call('GET', '/api/v1/health/cluster', { headers });
  if (status !== 200) throw new Error(`the cluster's health was answered with ${status}`);
  return body.node;
}
