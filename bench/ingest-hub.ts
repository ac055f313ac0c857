// The whole hub in this process over a store that already holds many events: set up over HTTP, filled through the
// store's port, started again.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../adapters/node/clock.ts';
import { openSqlite } from '../adapters/sqlite/index.ts';
import { startHub } from '../src/bootstrap/hub.ts';
import type { Store } from '../src/ports/store.ts';
import { type Admin, adminOf, benchOperatorToken, setUp } from './admin.ts';
import { agentName, batchSize, makeBatch } from './batch.ts';
import { benchFolder } from './folder.ts';

/** What the one batch among all that a rare search must find says. */
export const rareVerdict = 'call_rare';
/** Tenants beside the first: a tenant may send 10,000 events a second, so the load comes from several. */
const otherTenants = 4;
const inFlight = 64;

export interface IngestHub {
  readonly port: number;
  readonly dir: string;
  /** The first tenant's, then the others'. */
  readonly keys: readonly string[];
  readonly cookie: string;
  readonly fillMs: number;
  /** Start of the hub on the filled store, until it listens. */
  readonly startMs: number;
  readonly fileBytes: number;
  close(): Promise<void>;
}

/** Stores `rows` events of a tenant, oldest first over the last day; the very first batch has the rare verdict. */
async function fill(store: Store, tenantId: string, rows: number): Promise<void> {
  const batches = Math.ceil(rows / batchSize);
  const step = 86_400_000 / batches;
  const start = Date.now() - 86_400_000;
  let next = 0;
  async function sender(): Promise<void> {
    while (next < batches) {
      const n = next++;
      const receivedAt = Math.floor(start + n * step);
      const events = makeBatch(agentName(n * 7919), receivedAt, n === 0 ? rareVerdict : undefined);
      await store.events.ingest({
        tenantId,
        env: 'production',
        receivedAt,
        events: events.map((event) => ({ ...event, timestamp: Date.parse(event.timestamp) })),
      });
    }
  }
  await Promise.all(Array.from({ length: inFlight }, sender));
}

/** @param rows events of the first tenant; the others get as many together */
export async function startIngestHub(rows: number): Promise<IngestHub> {
  const { dir, config, remove } = benchFolder({ OPERATOR_TOKEN: benchOperatorToken });
  const first = await startHub(config);
  const url = `http://127.0.0.1:${first.port}`;
  const admin = await setUp(url);
  const keys = [await admin.newKey()];
  const tenantIds = [await tenantOf(admin)];
  for (let i = 1; i <= otherTenants; i++) {
    const other = adminOf(url);
    keys.push(await other.newTenant(`bench-${i}`));
    tenantIds.push(await tenantOf(other));
  }
  await first.stop();

  const path = join(dir, 'reeve.db');
  const store = await openSqlite({ path, clock: systemClock });
  const filling = performance.now();
  for (const [i, tenantId] of tenantIds.entries()) {
    await fill(store, tenantId, i === 0 ? rows : rows / otherTenants);
  }
  const fillMs = performance.now() - filling;
  await store.close();

  const starting = performance.now();
  const hub = await startHub(config);
  const startMs = performance.now() - starting;
  return {
    port: hub.port,
    dir,
    keys,
    cookie: admin.cookie(),
    fillMs,
    startMs,
    fileBytes: statSync(path).size,
    async close() {
      await hub.stop();
      remove();
    },
  };
}

const tenantOf = async (admin: Admin): Promise<string> =>
  (await admin.call<{ readonly tenant_id: string }>('GET', '/api/v1/auth/me')).tenant_id;
