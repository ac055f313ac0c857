// Measures durable event ingest of the embedded store beside two bounds of the same run: a raw append with fdatasync,
// and a bare one-table insert loop. Prints a line per round, or JSON. Usage: ingest [--rows N] [--seconds S] [--rounds R] [--json]
import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { systemClock } from '../adapters/node/clock.ts';
import { Database } from '../adapters/sqlite/database.ts';
import { openSqlite } from '../adapters/sqlite/index.ts';
import type { EventInput } from '../src/domain/event.ts';
import type { EventBatch } from '../src/ports/events.ts';
import type { Store } from '../src/ports/store.ts';

const { values: args } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const rows = Number(args.rows);
const seconds = Number(args.seconds);

const batchSize = 50;
const agents = 1000;
const inFlight = 64;
/** Batches per commit in the bounds: about what the group commit reaches. */
const boundGroup = 16;
const tenantId = randomUUID();
const filler = randomBytes(300).toString('hex');
const start = Date.now();

/** A batch as an agent posts it: 50 events of about 0.94 KB over 5 s, random call ids. */
function makeBatch(n: number, verdict?: string): EventBatch {
  const agent = `agent-${(n * 7919) % agents}`;
  const at = start + n * 20;
  const events = Array.from({ length: batchSize }, (_, i): EventInput => {
    const denied = (n + i) % 17 === 0;
    return {
      call_id: randomUUID(),
      agent_id: agent,
      tool_name: `tool-${i % 5}`,
      verdict: verdict ?? (denied ? 'call_denied' : 'call_allowed'),
      mode: 'enforce',
      timestamp: at + i * 100,
      payload: {
        tool_args: { path: `/srv/${agent}/${i}`, body: filler.slice(0, 560) },
        side_effect: 'read',
        environment: 'production',
        principal: null,
        decision_source: 'contract',
        decision_name: `contract-${i % 3}`,
        reason: null,
        policy_version: '4f2d8a1c',
      },
    };
  });
  return { tenantId, env: 'production', receivedAt: at, events };
}

/** Sends batches, one per turn of the loop, with at most `inFlight` unanswered, until `done` says so. Returns events stored. */
function pump(store: Store, next: () => EventBatch | null): Promise<number> {
  return new Promise((resolve, reject) => {
    let flying = 0;
    let stored = 0;
    let ended = false;
    let scheduled = false;
    const schedule = () => {
      if (scheduled || ended || flying >= inFlight) return;
      scheduled = true;
      setImmediate(turn);
    };
    const turn = () => {
      scheduled = false;
      const batch = next();
      if (!batch) {
        ended = true;
        if (flying === 0) resolve(stored);
        return;
      }
      flying++;
      store.events.ingest(batch).then(({ accepted }) => {
        flying--;
        stored += accepted;
        if (ended && flying === 0) resolve(stored);
        schedule();
      }, reject);
      schedule();
    };
    schedule();
  });
}

const round1 = (n: number): number => Math.round(n * 10) / 10;
const percentile = (list: readonly number[], p: number): number =>
  round1([...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * p))] ?? 0);

async function timed(task: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await task();
  return performance.now() - began;
}

const newest = (store: Store) =>
  store.events.search(
    tenantId,
    { env: null, agentId: `agent-${Math.floor(Math.random() * agents)}` },
    100,
    null,
  );
const rare = (store: Store) => store.events.search(tenantId, { env: null, verdict: 'rare' }, 100, null);

/** Events per second of an append with one fdatasync for each group of batches. */
function rawBound(folder: string, bodies: readonly Buffer[]): number {
  const file = openSync(join(folder, 'raw'), 'w');
  const began = performance.now();
  for (let i = 0; i < bodies.length; i += boundGroup) {
    writeSync(file, Buffer.concat(bodies.slice(i, i + boundGroup)));
    fdatasyncSync(file);
  }
  closeSync(file);
  return Math.round((bodies.length * batchSize * 1000) / (performance.now() - began));
}

/** Events per second of the same engine with one row per event, no index and no look-up. */
function tableBound(folder: string, batches: readonly (readonly string[])[]): number {
  const db = new Database(join(folder, 'bare.db'));
  db.get('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL; CREATE TABLE bare (id INTEGER PRIMARY KEY, body TEXT)');
  const began = performance.now();
  for (let i = 0; i < batches.length; i += boundGroup) {
    db.atomically(() => {
      for (const text of batches.slice(i, i + boundGroup).flat())
        db.run('INSERT INTO bare (body) VALUES (?)', [text]);
    });
  }
  const rate = Math.round((batches.length * batchSize * 1000) / (performance.now() - began));
  db.close();
  rmSync(join(folder, 'bare.db'));
  return rate;
}

async function measure(store: Store, folder: string, first: number) {
  const sample = Array.from({ length: 800 }, (_, i) => makeBatch(i).events.map((e) => JSON.stringify(e)));
  const raw = rawBound(
    folder,
    sample.map((texts) => Buffer.from(texts.join('\n'))),
  );
  const table = tableBound(folder, sample);

  const idleNewest: number[] = [];
  for (let i = 0; i < 100; i++) idleNewest.push(await timed(() => newest(store)));
  const idleRare: number[] = [];
  for (let i = 0; i < 3; i++) idleRare.push(await timed(() => rare(store)));

  let n = first;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const busyNewest: number[] = [];
  const busyRare: number[] = [];
  const probe = setInterval(() => void timed(() => newest(store)).then((ms) => busyNewest.push(ms)), 100);
  const rareProbe = setInterval(() => void timed(() => rare(store)).then((ms) => busyRare.push(ms)), 2000);
  delay.enable();
  const began = performance.now();
  const until = began + seconds * 1000;
  const stored = await pump(store, () => (performance.now() < until ? makeBatch(n++) : null));
  const elapsed = performance.now() - began;
  delay.disable();
  clearInterval(probe);
  clearInterval(rareProbe);
  await store.ping();
  return {
    batches: n - first,
    eventsPerSecond: Math.round((stored * 1000) / elapsed),
    rawAppend: raw,
    bareTable: table,
    loopDelayP99: round1(delay.percentile(99) / 1e6),
    loopDelayMax: round1(delay.max / 1e6),
    newest100: [percentile(idleNewest, 0.5), percentile(idleNewest, 0.99)],
    newest100Busy: [percentile(busyNewest, 0.5), percentile(busyNewest, 0.99)],
    rare: percentile(idleRare, 1),
    rareBusy: percentile(busyRare, 1),
  };
}

const folder = mkdtempSync(join(tmpdir(), 'bench-ingest-'));
const path = join(folder, 'hub.db');
const store = await openSqlite({ path, clock: systemClock });
const say = (text: string) => args.json || process.stdout.write(`${text}\n`);
const results = [];
try {
  await store.events.ingest(makeBatch(0, 'rare'));
  let n = 1;
  const preload = await timed(() => pump(store, () => (n * batchSize < rows ? makeBatch(n++) : null)));
  say(
    `preloaded ${n * batchSize} events in ${round1(preload / 1000)} s, file ${statSync(path).size >> 20} MiB`,
  );
  for (let round = 0; round < Number(args.rounds); round++) {
    const result = await measure(store, folder, n);
    n += result.batches;
    results.push(result);
    say(JSON.stringify(result));
  }
  if (args.json)
    process.stdout.write(`${JSON.stringify({ rows, seconds, preloadMs: round1(preload), results })}\n`);
} finally {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}
