// The bound of queries, without a hub: a bare server that reads the newest 100 rows of one agent by an index in SQLite
// and answers with them as JSON.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { loadUws } from '../../adapters/uws/load.ts';
import { agentCount, agentName, batchSize, makeBatch } from '../batch.ts';
import { listenBare } from '../suite/bare-server.ts';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';

export const newestRowsText =
  "an agent's newest 100 rows by an index in SQLite, as JSON, from a bare server of the same native library";

interface Order {
  readonly type: 'serve';
  readonly folder: string;
  readonly rows: number;
}

export class NewestRows extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'bound');
  }

  /** @returns the origin of a server that answers `/?agent=` */
  serve(folder: string, rows: number): Promise<string> {
    return this.request({ type: 'serve', folder, rows });
  }
}

/** @returns the reader of an agent's newest rows, as JSON */
function fill(parent: string, rows: number): (agent: string) => string {
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
  return (agent) => JSON.stringify(select.all([agent]));
}

async function run({ folder, rows }: Order): Promise<string> {
  const readNewest = fill(folder, rows);
  const uws = await loadUws();
  const app = uws.App();
  app.get('/', (response, request) => {
    response.writeHeader('Content-Type', 'application/json');
    response.end(readNewest(request.getQuery('agent') ?? ''));
  });
  return `http://127.0.0.1:${uws.us_socket_local_port(await listenBare(app))}`;
}

serveOrders(import.meta.url, run);
