// Files that older versions made: what is in them is found in its new place.
import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { openSqliteInline } from '../../../adapters/sqlite/index.ts';
import { verdictWords } from '../../../adapters/sqlite/schema/events.ts';
import { migrate } from '../../../adapters/sqlite/schema/index.ts';
import { emptyChain, nextLink } from '../../../src/audit/record.ts';
import { runNote } from '../../../src/run/rules/report.ts';
import { valueTtlMs } from '../../../src/shared/ports/values.ts';
import { aBatch } from '../../conformance/events.ts';
import { aNote, anEvent, firstPage, itemsOf, t0, uuid, writerOf } from '../../conformance/fixtures.ts';

const sha256 = (text: string): string => hash('sha256', text, 'hex');

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

it('entries of the audit chain keep their order, and none is added again', async () => {
  const tenantId = uuid();
  const event = anEvent({ verdict: 'call_denied', payload: { session_id: 's' }, timestamp: t0 });
  const runEntry = runNote(event, { tenantId, env: 'staging', receivedAt: t0 }, sha256);
  const approvalEntry = aNote({ tenantId, at: t0, action: 'approval.created' });
  const store = await opened(35, (db) => {
    const { link } = nextLink(emptyChain, [approvalEntry, ...(runEntry ? [runEntry] : [])], sha256);
    db.run('INSERT INTO audit_links (tenant_id, seq, at, prev, digest, body) VALUES (?, 1, ?, ?, ?, ?)', [
      tenantId,
      t0,
      link.prev,
      link.digest,
      link.body,
    ]);
    [approvalEntry.id, runEntry?.id ?? ''].forEach((id, position) => {
      db.run(`INSERT INTO audit_entries VALUES (?, ?, 1, ?, ?, 'a', 'a', 'x.y', ?)`, [
        tenantId,
        id,
        position,
        t0,
        position === 0 ? 'approval' : 'run',
      ]);
    });
  });
  const ids = async () => {
    const anything = { from: null, to: null, actor: null, actions: null, subjects: null };
    return (await store.audit.feed(tenantId, anything, null, 9)).map(({ entry }) => entry.id);
  };
  expect(await ids()).toEqual([runEntry?.id, approvalEntry.id]);
  await store.audit.append([approvalEntry]);
  await store.events.ingest(aBatch(tenantId, [event]));
  expect(await ids()).toEqual([runEntry?.id, approvalEntry.id]);
  await store.close();
});

it('events that older versions counted as allowed are counted again, with all others', async () => {
  const tenantId = uuid();
  const path = join(folder, 'reeve.db');
  const words = ['call_approval_denied', 'call_would_deny', 'block', 'call_allowed', 'ask', 'call_denied'];
  const named = { decision_name: 'c', policy_version: 'v1' };
  const events = words.map((verdict, i) =>
    anEvent({ verdict, agent_id: 'a', tool_name: 't', timestamp: t0 + i, payload: named }),
  );
  const asked = anEvent({ verdict: 'call_approval_requested', agent_id: 'a', timestamp: t0, payload: named });
  const first = await openSqliteInline(path);
  await first.events.ingest(aBatch(tenantId, [...events, asked]));
  await first.events.ingest(aBatch(tenantId, [{ ...asked, verdict: 'call_approval_denied' }]));
  const [from, to] = [t0 - 3_600_000 * 2, t0 + 3_600_000 * 2];
  const figures = async (store: typeof first) => ({
    contracts: await store.usage.contracts(tenantId, null, from, to),
    tools: await store.usage.toolsOf(tenantId, 'a', from),
    counts: await store.events.counts(tenantId, null, from, from),
    span: await store.usage.spanOf(tenantId, 'a'),
  });
  const expected = await figures(first);
  expect(expected.counts).toMatchObject({ events: 7, denials: 3, observeFindings: 1 });
  expect(expected.contracts.contracts).toMatchObject([{ name: 'c', calls: 7, denials: 3, warnings: 1 }]);
  await first.close();

  // As the version before wrote it: these two denials, and what was asked by a short word, were allowed.
  const db = new Database(path);
  db.exec(`UPDATE tool_hours SET allowed = allowed + 3, denied = denied - 2 WHERE tool = 't';
    UPDATE contract_hours SET denied = denied - 2; UPDATE contract_minutes SET denied = denied - 2;
    ${verdictWords}`);
  db.close();
  const reopened = await openSqliteInline(path);
  expect(await figures(reopened)).toEqual(expected);
  await reopened.close();
});
