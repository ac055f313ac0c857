// Files that older versions made: what is in them is found in its new place.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { openSqliteInline } from '../../../adapters/sqlite/index.ts';
import { migrate } from '../../../adapters/sqlite/schema/index.ts';
import { valueTtlMs } from '../../../src/shared/ports/values.ts';
import { firstPage, itemsOf, t0, uuid, writerOf } from '../../conformance/fixtures.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A file of an older version, filled by `fill`, opened by this one. */
async function opened(version: number, fill: (db: Database) => void) {
  const path = join(folder, 'reeve.db');
  const db = new Database(path);
  migrate(db, version);
  fill(db);
  db.close();
  return openSqliteInline(path);
}

it('arguments of approvals that stood in their rows: small ones stay, others are kept apart', async () => {
  const tenantId = uuid();
  const args = [null, { path: 'é' }, { text: 'é'.repeat(3000) }, { text: 'x'.repeat(500_000) }];
  const store = await opened(4, (db) => {
    args.forEach((toolArgs, i) => {
      db.run(
        `INSERT INTO approvals (id, tenant_id, status, agent_id, tool_name, tool_args, message, env, timeout_seconds,
           timeout_effect, created_at, deadline) VALUES (?, ?, 'pending', 'a', 't', ?, 'm', 'staging', 300, 'deny', ?, ?)`,
        [`id${i}`, tenantId, toolArgs && JSON.stringify(toolArgs), t0 + i, t0 + 300_000],
      );
    });
  });
  const sizes = args.map((toolArgs) => (toolArgs ? Buffer.byteLength(JSON.stringify(toolArgs)) : 0));
  const listed = await itemsOf(store.approvals.list(tenantId, { env: 'staging' }, firstPage, t0));
  expect(listed.map(({ argsBytes }) => argsBytes)).toEqual([...sizes].reverse());
  expect(listed.map(({ toolArgs }) => toolArgs)).toEqual([null, null, args[1], null]);
  for (const [i, toolArgs] of args.entries()) {
    expect(await store.approvals.getWhole(tenantId, `id${i}`)).toMatchObject({ toolArgs });
  }
  await store.close();
});

it('session values of before they were counted are there, and count when they get larger', async () => {
  const tenantId = uuid();
  const store = await opened(8, (db) => {
    db.run('INSERT INTO session_values (tenant_id, key, value, expires_at) VALUES (?, ?, ?, ?)', [
      tenantId,
      'k',
      'é'.repeat(50),
      t0 + valueTtlMs,
    ]);
  });
  const writer = writerOf(tenantId, { quota: { maxBytes: 60, maxKeys: 1 } });
  expect(await store.values.get(tenantId, 'k', t0)).toBe('é'.repeat(50));
  expect(await store.values.set(writer, 'k', 'x'.repeat(100), t0)).toBe('set');
  expect(await store.values.set(writer, 'other', 'x'.repeat(55), t0)).toBe('set');
  expect(await store.values.set(writer, 'k', 'x'.repeat(101), t0)).toBe('bytes_full');
  await store.close();
});
