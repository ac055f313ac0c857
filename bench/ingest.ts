// Durable event ingest of the whole hub at a million stored events, beside a raw append with fdatasync of the same
// bytes in the same run; the delay of the hub's event loop meanwhile; the newest events of an agent; and a rare verdict
// among all while ingest goes on.
import { closeSync, fdatasyncSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { systemClock } from '../adapters/node/clock.ts';
import { agentName, batchSize, makeBatch } from './batch.ts';
import { HttpClient } from './http-client.ts';
import { rareVerdict, startIngestHub } from './ingest-hub.ts';
import { isMet, lineOf, loopSampleMs, median, percentile, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';

const goals = { eventsPerSecond: 20_000, loopDelayMs: 5, newestMs: 5, rareMs: 500, rateBesideReads: 0.8 };
const connections = 32;
/** Batches that share an fdatasync in the bound: about what the hub's commits hold with so many connections. */
const boundGroup = 16;
const boundBatches = 2000;
const newestReads = 300;

const {
  rows,
  seconds,
  repeats,
  quiet: quietSeconds,
  json,
  say,
} = readOptions({
  program: 'ingest',
  options: {
    rows: {
      about: 'events stored before, in one tenant; others get as many together',
      default: 1_000_000,
      atLeast: 100_000,
    },
    seconds: { about: 'length of each measurement of ingest', default: 10 },
    repeats: { about: 'repeats', default: 3, atLeast: 3 },
    quiet: {
      about: 'before each measurement, wait up to N seconds for the rest of the machine to be idle',
      default: 0,
      atLeast: 0,
    },
  },
  note: 'Ends with code 1 when a goal is missed.',
});

/** Events per second of appending the bodies of batches to a file, with an fdatasync for each group of them. */
function rawAppend(dir: string): number {
  const bodies = Array.from({ length: 64 }, (_, n) =>
    Buffer.from(JSON.stringify(makeBatch(agentName(n), Date.now()))),
  );
  const path = join(dir, 'raw');
  const file = openSync(path, 'w');
  const began = performance.now();
  for (let i = 0; i < boundBatches; i += boundGroup) {
    const group = Array.from(
      { length: boundGroup },
      (_, k) => bodies[(i + k) % bodies.length] ?? Buffer.alloc(0),
    );
    writeSync(file, Buffer.concat(group));
    fdatasyncSync(file);
  }
  const elapsed = performance.now() - began;
  closeSync(file);
  unlinkSync(path);
  return (boundBatches * batchSize * 1000) / elapsed;
}

const hub = await startIngestHub(rows);
say(
  `${2 * rows} events filled in ${round(hub.fillMs / 1000)} s (${hub.fileBytes >> 20} MiB); hub started on them ` +
    `in ${round(hub.startMs)} ms`,
);
const [loader, reader] = [new HttpClient(), new HttpClient()];
const { port, keys, cookie } = hub;

/** CPU time of the whole machine so far, milliseconds. */
const busyMs = (): number =>
  cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);

/** Waits until less than a tenth of the machine is busy for two seconds, at most as long as asked for. */
async function quiet(): Promise<void> {
  const until = performance.now() + quietSeconds * 1000;
  while (performance.now() < until) {
    const [before, began] = [busyMs(), performance.now()];
    await new Promise<void>((resolve) => {
      systemClock.after(2000, resolve);
    });
    if (busyMs() - before < 0.1 * cpus().length * (performance.now() - began)) return;
  }
}

interface IngestFigures {
  readonly eventsPerSecond: number;
  /** Of the hub's main thread, milliseconds, the sampling interval of 1 ms included. */
  readonly loopDelay: number;
  readonly answerP50: number;
  readonly answerP99: number;
  /** CPU time of the hub's process per event, microseconds. */
  readonly cpu: number;
  /** Processors that neither the hub nor the client used, but something else on the machine. */
  readonly otherCpus: number;
}

async function ingest(length: number): Promise<IngestFigures> {
  const delay = monitorEventLoopDelay({ resolution: loopSampleMs });
  delay.enable();
  const before = process.cpuUsage();
  const busyBefore = busyMs();
  const { events, elapsedMs, latencies, cpu } = await loader.ingest({
    port,
    keys,
    connections,
    seconds: length,
  });
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  const ours = (user + system + cpu) / 1000;
  return {
    eventsPerSecond: Math.round((events * 1000) / elapsedMs),
    // Node records the whole time between two samples.
    loopDelay: round(delay.percentile(99) / 1e6 - loopSampleMs, 2),
    answerP50: round(percentile(latencies, 0.5)),
    answerP99: round(percentile(latencies, 0.99)),
    cpu: round((user + system) / events),
    otherCpus: round(Math.max(0, busyMs() - busyBefore - ours) / elapsedMs, 2),
  };
}

const readNewest = () =>
  reader.read({
    port,
    headers: { Cookie: cookie },
    path: '/api/v1/events?agent_id={agent}&limit=100',
    count: newestReads,
    pauseMs: 2,
    expected: 100,
  });
const readRare = (count: number, pauseMs: number) =>
  reader.read({
    port,
    headers: { Cookie: cookie },
    path: `/api/v1/events?verdict=${rareVerdict}&limit=100`,
    count,
    pauseMs,
    expected: batchSize,
  });

/** Ingest while a rare verdict is searched for again and again, a second apart. */
async function ingestBesideReads() {
  await quiet();
  const reading = readRare(Math.max(1, Math.floor(seconds / 1.5)), 1000);
  const [figures, times] = [await ingest(seconds), await reading];
  return { figures, rare: Math.max(...times) };
}

async function ingestAlone() {
  await quiet();
  const idling = reader.idle(seconds);
  const figures = await ingest(seconds);
  return { ...figures, idleLoopDelay: round(await idling, 2) };
}

async function repeat(n: number) {
  await quiet();
  const bound = Math.round(rawAppend(hub.dir));
  const idle = await readNewest();
  const [alone, beside] =
    n % 2 === 0
      ? [await ingestAlone(), await ingestBesideReads()]
      : await ingestBesideReads().then(async (first) => [await ingestAlone(), first] as const);
  const figures = {
    ...alone,
    rawAppend: bound,
    share: round(alone.eventsPerSecond / bound, 3),
    newestP50: round(median(idle), 2),
    newestP99: round(percentile(idle, 0.99), 2),
    besideReads: beside.figures.eventsPerSecond,
    loopDelayBesideReads: beside.figures.loopDelay,
    rateBesideReads: round(beside.figures.eventsPerSecond / alone.eventsPerSecond, 2),
    rareMs: round(beside.rare),
  };
  say(`repeat ${n + 1}: ${JSON.stringify(figures)}`);
  return figures;
}

const rounds: Awaited<ReturnType<typeof repeat>>[] = [];
try {
  await ingest(Math.min(3, seconds));
  for (let n = 0; n < repeats; n++) rounds.push(await repeat(n));
} finally {
  loader.stop();
  reader.stop();
  await hub.close();
}

const middle = (figure: (round: (typeof rounds)[number]) => number): number =>
  round(median(rounds.map(figure)), 2);
const verdicts: Verdict[] = [
  {
    what: 'durable events per second',
    value: middle((r) => r.eventsPerSecond),
    unit: '',
    atLeast: goals.eventsPerSecond,
  },
  {
    what: "event-loop delay of the hub's main thread meanwhile, p99",
    value: middle((r) => r.loopDelay),
    unit: ' ms',
    atMost: goals.loopDelayMs,
  },
  {
    what: `newest 100 events of an agent among ${rows}, median`,
    value: middle((r) => r.newestP50),
    unit: ' ms',
    atMost: goals.newestMs,
  },
  { what: '  the same, p99', value: middle((r) => r.newestP99), unit: ' ms', atMost: goals.newestMs },
  {
    what: `a rare verdict among ${rows} while ingest goes on, slowest`,
    value: middle((r) => r.rareMs),
    unit: ' ms',
    atMost: goals.rareMs,
  },
  {
    what: 'rate of ingest beside those searches ÷ rate alone',
    value: middle((r) => r.rateBesideReads),
    unit: '',
    atLeast: goals.rateBesideReads,
  },
];
const met = verdicts.every(isMet);
const idleDelay = middle((r) => r.idleLoopDelay);
const share = middle((r) => r.share);
if (json) {
  const { fillMs, startMs, fileBytes } = hub;
  process.stdout.write(
    `${JSON.stringify({ benchmark: 'ingest', rows, seconds, repeats: rounds, fillMs, startMs, fileBytes, share, verdicts, met })}\n`,
  );
} else {
  say(`medians of ${repeats} repeats, batches of ${batchSize} over ${connections} connections`);
  for (const verdict of verdicts) say(lineOf(verdict));
  say(`  event-loop delay of an idle process at the same time, p99: ${idleDelay} ms`);
  say(
    `  CPU of the hub per event: ${middle((r) => r.cpu)} µs; processors that others used meanwhile: ` +
      `${middle((r) => r.otherCpus)} of ${cpus().length}`,
  );
  say(
    `  rate ÷ raw append + fdatasync of the same bytes (${boundGroup} batches each; ${middle((r) => r.rawAppend)} events/s): ${share}`,
  );
}
process.exitCode = met ? 0 : 1;
