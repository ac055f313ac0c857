// The bounds of ingest, without a hub: a row per event in SQLite, an append with fdatasync, and parsing, each of the
// bytes that the load sends.
import { randomUUID } from 'node:crypto';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { agentName, batchSize, ReusableBody, type WireEvent } from '../batch.ts';
import type { IdOrder } from '../suite/arguments.ts';
import { nextTurn } from '../suite/client-process.ts';

export type BoundName = 'insert' | 'append' | 'parse';

/** Batches that share a commit or an fdatasync: about the number in one commit of a hub under full load. */
const groupSize = 16;
/** As many texts to parse as fit no cache of a core. */
const parsedBodies = 40;

export const boundTexts: { readonly [name in BoundName]: string } = {
  insert: `one row per event in SQLite, durable commits of ${groupSize} batches`,
  append: `append to a file, fdatasync per ${groupSize} batches`,
  parse: `processor time of JSON.parse of the same bytes, ${parsedBodies} batches again and again`,
};

const clockHexDigits = 12;

/** A UUID of version 7, which begins with the time in milliseconds. */
function orderedId(): string {
  const clock = Date.now().toString(16).padStart(clockHexDigits, '0');
  return `${clock.slice(0, 8)}-${clock.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The call ids of a bound are of the load's kind: rows in the order of their ids cost an index less. */
const idMakers: { readonly [ids in IdOrder]: () => string } = { random: randomUUID, ordered: orderedId };

const newBody = (ids: IdOrder): ReusableBody => new ReusableBody('console', idMakers[ids]);

const refreshBody = (body: ReusableBody, n: number): Buffer => body.refresh(agentName(n * 7919), Date.now());

interface GroupWriter {
  writeGroup(): void;
  close(): unknown;
}

export function insertRows(folder: string, ids: IdOrder): GroupWriter {
  const db = new Libsql(join(folder, 'rows.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec(
    'CREATE TABLE events (call_id TEXT PRIMARY KEY, agent_id TEXT, tool_name TEXT, verdict TEXT, mode TEXT, ' +
      'timestamp TEXT, payload TEXT) WITHOUT ROWID',
  );
  const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)');
  const body = newBody(ids);
  let batches = 0;
  return {
    writeGroup(): void {
      db.exec('BEGIN IMMEDIATE');
      for (let i = 0; i < groupSize; i++) {
        const { events } = JSON.parse(refreshBody(body, batches++).toString()) as { events: WireEvent[] };
        for (const { call_id, agent_id, tool_name, verdict, mode, timestamp, payload } of events) {
          insert.run([call_id, agent_id, tool_name, verdict, mode, timestamp, JSON.stringify(payload)]);
        }
      }
      db.exec('COMMIT');
    },
    close: () => db.close(),
  };
}

function appendBytes(folder: string, ids: IdOrder) {
  const file = openSync(join(folder, 'bytes'), 'w');
  const bodies = Array.from({ length: groupSize }, () => newBody(ids));
  return {
    writeGroup(): void {
      writeSync(file, Buffer.concat(bodies.map((body, n) => refreshBody(body, n))));
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}

function parseBytes(_folder: string, ids: IdOrder) {
  const bodies = Array.from({ length: parsedBodies }, (_, n) => refreshBody(newBody(ids), n));
  let batches = 0;
  return {
    writeGroup(): void {
      for (let i = 0; i < groupSize; i++) JSON.parse((bodies[batches++ % parsedBodies] as Buffer).toString());
    },
    close: () => undefined,
  };
}

/** Processor time of this process and all its threads so far, milliseconds, as the figure has that of a hub. */
function ownProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const elapsedMs = (): number => performance.now();

const bounds = {
  insert: { start: insertRows, readMs: elapsedMs },
  append: { start: appendBytes, readMs: elapsedMs },
  parse: { start: parseBytes, readMs: ownProcessorMs },
} as const;

/** @returns events per second: of elapsed time, for `parse` of processor time */
export async function measureBound(order: {
  readonly bound: BoundName;
  readonly seconds: number;
  readonly folder: string;
  readonly ids: IdOrder;
}): Promise<number> {
  const folder = mkdtempSync(join(order.folder, 'bound-'));
  const { start, readMs } = bounds[order.bound];
  const bound = start(folder, order.ids);
  try {
    const end = performance.now() + order.seconds * 1000;
    const began = readMs();
    let groups = 0;
    do {
      bound.writeGroup();
      groups++;
      await nextTurn();
    } while (performance.now() < end);
    return (groups * groupSize * batchSize * 1000) / (readMs() - began);
  } finally {
    bound.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
