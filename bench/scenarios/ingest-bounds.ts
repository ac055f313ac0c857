// The bounds of ingest, without a hub: a row per event in SQLite, an append with fdatasync, and parsing, each of the
// bytes that the load sends.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { agentName, batchSize, ReusableBody, type WireEvent } from '../batch.ts';
import { nextTurn } from '../suite/client-process.ts';

export type BoundName = 'insert' | 'append' | 'parse';

/** Batches that share a commit or an fdatasync: about the number in one commit of a hub under full load. */
const groupSize = 16;

export const boundTexts: { readonly [name in BoundName]: string } = {
  insert: `one row per event in SQLite, durable commits of ${groupSize} batches`,
  append: `append to a file, fdatasync per ${groupSize} batches`,
  parse: 'JSON.parse of the same bytes on one thread',
};

const refreshBody = (body: ReusableBody, n: number): Buffer => body.refresh(agentName(n * 7919), Date.now());

function insertRows(folder: string) {
  const db = new Libsql(join(folder, 'rows.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec(
    'CREATE TABLE events (call_id TEXT PRIMARY KEY, agent_id TEXT, tool_name TEXT, verdict TEXT, mode TEXT, ' +
      'timestamp TEXT, payload TEXT) WITHOUT ROWID',
  );
  const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)');
  const body = new ReusableBody();
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

function appendBytes(folder: string) {
  const file = openSync(join(folder, 'bytes'), 'w');
  const bodies = Array.from({ length: groupSize }, () => new ReusableBody());
  return {
    writeGroup(): void {
      writeSync(file, Buffer.concat(bodies.map((body, n) => refreshBody(body, n))));
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}

function parseBytes() {
  const body = refreshBody(new ReusableBody(), 0);
  return {
    writeGroup(): void {
      for (let i = 0; i < groupSize; i++) JSON.parse(body.toString());
    },
    close: () => undefined,
  };
}

/** @returns events per second */
export async function measureBound(order: {
  readonly bound: BoundName;
  readonly seconds: number;
  readonly folder: string;
}): Promise<number> {
  const folder = mkdtempSync(join(order.folder, 'bound-'));
  const makeBound = { insert: insertRows, append: appendBytes, parse: parseBytes }[order.bound];
  const bound = makeBound(folder);
  try {
    const began = performance.now();
    let groups = 0;
    do {
      bound.writeGroup();
      groups++;
      await nextTurn();
    } while (performance.now() - began < order.seconds * 1000);
    return (groups * groupSize * batchSize * 1000) / (performance.now() - began);
  } finally {
    bound.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
