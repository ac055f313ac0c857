// The bound of queries, without a hub: the newest 100 rows of one agent by an index in SQLite, as JSON.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { agentCount, agentName, batchSize, makeBatch } from '../batch.ts';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { type OpenLoop, type OpenLoopResult, runOpenLoop } from '../suite/open-loop.ts';

export const newestRowsText = "an agent's newest 100 rows by an index in SQLite, as JSON";

type Order =
  | { readonly type: 'fill'; readonly folder: string; readonly rows: number }
  | ({ readonly type: 'read' } & OpenLoop);

export class NewestRows extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'bound');
  }

  async fill(folder: string, rows: number): Promise<void> {
    await this.request({ type: 'fill', folder, rows });
  }

  read(loop: OpenLoop): Promise<OpenLoopResult> {
    return this.request({ type: 'read', ...loop });
  }
}

let readNewest: (agent: string) => string = () => '';

function fill(parent: string, rows: number): void {
  const folder = mkdtempSync(join(parent, 'bound-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const db = new Libsql(join(folder, 'rows.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
  db.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, agent_id TEXT, timestamp TEXT, payload TEXT)');
  const insert = db.prepare('INSERT INTO events (agent_id, timestamp, payload) VALUES (?, ?, ?)');
  const payload = JSON.stringify(makeBatch(agentName(0), 0)[0]?.payload);
  db.exec('BEGIN');
  for (let n = 0; n < rows; n++) {
    insert.run([agentName(Math.floor(n / batchSize) % agentCount), new Date(n).toISOString(), payload]);
  }
  db.exec('COMMIT');
  db.exec('CREATE INDEX events_by_agent ON events (agent_id, timestamp)');
  const select = db.prepare('SELECT * FROM events WHERE agent_id = ? ORDER BY timestamp DESC LIMIT 100');
  readNewest = (agent) => JSON.stringify(select.all([agent]));
}

async function run(order: Order): Promise<unknown> {
  if (order.type === 'fill') return fill(order.folder, order.rows);
  return runOpenLoop(order, async (n) => readNewest(agentName(n * 7919)));
}

serveOrders(import.meta.url, run);
