// Files of tenants from and into MongoDB: what an embedded store and a cluster contain of a tenant is the same.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSqliteInline, type SqliteStore } from '../../adapters/sqlite/index.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { type FilledTenant, fillStore } from '../moved-store.ts';
import { random } from '../random.ts';
import { runsOf } from '../runs.ts';
import { contentOf, dyingAfter, exportOf, importInto, operatorOf, trimRun } from '../tenant-files.ts';
import { mongoDatabases } from './stage.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-tenant-'));
const now = Date.now();
const databases = mongoDatabases();
const openStores: { close(): Promise<void> }[] = [];
let embedded: SqliteStore;
let cluster: DocumentStore;
let tenant: FilledTenant;
/** The last link of the chain in the file. */
let lastLink = 0;

async function opened<S extends { close(): Promise<void> }>(opening: Promise<S>): Promise<S> {
  const store = await opening;
  openStores.push(store);
  return store;
}
const newEmbedded = () => opened(openSqliteInline(join(folder, `${openStores.length}.db`)));
const newCluster = () => opened(databases.open());
const fileOf = (store: DocumentStore) => exportOf(operatorOf(store as never, now), tenant.tenantId);

beforeAll(async () => {
  embedded = await newEmbedded();
  [tenant] = await fillStore(embedded, { now, sealed: 'sealed', events: 30 });
  await trimRun(embedded, tenant.tenantId, now);
  const file = await fileOf(embedded);
  lastLink = (await embedded.audit.getHead(tenant.tenantId))?.seq ?? 0;
  cluster = await newCluster();
  await importInto(operatorOf(cluster as never, now), file);
});
afterAll(async () => {
  for (const store of openStores) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const content = (store: DocumentStore) => contentOf(store as never, tenant.tenantId, lastLink);

describe('a tenant file', () => {
  it('carries an embedded tenant into MongoDB', async () => {
    expect((await content(cluster)).runs).toHaveLength(1);
    expect(await content(cluster)).toEqual(await content(embedded));
  });

  it('carries a tenant of MongoDB into an embedded store, and into another MongoDB', async () => {
    const file = await fileOf(cluster);
    for (const store of [await newEmbedded(), await newCluster()]) {
      await importInto(operatorOf(store as never, now), file);
      expect(await content(store)).toEqual(await content(cluster));
    }
  });

  it('carries a tenant that began in MongoDB into an embedded store', async () => {
    const native = await newCluster();
    // Session values and jobs are in Redis, and in no file.
    const nothing = {
      set: async () => {},
      increment: async () => {},
      add: async () => {},
      take: async () => [],
    };
    const [begun] = await fillStore({ ...native, values: nothing, jobs: nothing } as never, {
      now,
      sealed: 'sealed',
      events: 5,
    });
    const { tenantId } = begun;
    await trimRun(native as never, tenantId, now);
    const file = await exportOf(operatorOf(native as never, now), tenantId);
    const last = (await native.audit.getHead(tenantId))?.seq ?? 0;
    const store = await newEmbedded();
    await importInto(operatorOf(store, now), file);
    expect(await contentOf(store, tenantId, last)).toEqual(await contentOf(native as never, tenantId, last));
  });

  it('that is killed anywhere ends in the same tenant when it is repeated', async () => {
    const chance = random('cluster-kills');
    const file = await fileOf(cluster);
    const expected = await content(cluster);
    for (let run = 0; run < runsOf(40, 1); run++) {
      const store = await newCluster();
      const dying = dyingAfter(store as never, chance.int(50), chance.int(2) === 0);
      await importInto(operatorOf(dying, now), file).catch((error) => expect(error.message).toBe('killed'));
      await importInto(operatorOf(store as never, now), file);
      expect(await content(store)).toEqual(expected);
    }
  });
});
