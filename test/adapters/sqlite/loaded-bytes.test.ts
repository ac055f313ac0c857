// Bytes that a start reads for calls that are not merged: bounded, however few calls large bodies hold.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { CallIndex } from '../../../adapters/sqlite/events/calls.ts';
import { encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { eventWriter } from '../../../adapters/sqlite/events/ingest.ts';
import { configure, migrate } from '../../../adapters/sqlite/schema/index.ts';
import { UsageWriter } from '../../../adapters/sqlite/usage/write.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, t0, uuid } from '../../conformance/fixtures.ts';

it.each([
  ['packed bodies beside their ids', () => uuid()],
  ['bodies whose ids look like texts', () => `22222222${uuid().slice(8)}`],
])('are merged beyond the bound: %s', (_name, newId) => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-bytes-'));
  const db = new Database(join(folder, 'hub.db'));
  try {
    configure(db, { cacheBytes: 1 << 20, checkpointPages: 1000 });
    migrate(db);
    const calls = new CallIndex(db, { calls: 1000, bytes: 1 << 20 });
    calls.load();
    const writer = eventWriter(db, calls, new UsageWriter(db));
    const tenantId = uuid();
    for (let n = 0; n < 200; n++) {
      const part = randomBytes(15_000).toString('hex');
      const payload = { tool_args: { part, again: part, more: part } };
      const event = anEvent({ callId: newId(), agentId: 'a', timestamp: t0 + n, payload });
      db.atomically(() => {
        calls.maintain();
        return writer.ingest(encodeBatch(aBatch(tenantId, [event])));
      });
    }
    const packed = db.get('SELECT count(*) FROM segment_bodies WHERE call_keys IS NOT NULL')?.[0];
    expect(Number(packed)).toBe(200);
    expect(Number(db.get('SELECT merged FROM store')?.[0])).toBeGreaterThan(0);
  } finally {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
