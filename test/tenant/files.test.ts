// Files of tenants, between embedded stores: what they contain, and what an import refuses.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSqliteInline, type SqliteStore } from '../../adapters/sqlite/index.ts';
import { recordKinds } from '../../src/shared/ports/moved-records.ts';
import { tenantFileKinds } from '../../src/tenant/rules/file-kinds.ts';
import { removeTenantRecords } from '../../src/tenant/use-cases/tenants.ts';
import { aBatch } from '../conformance/events.ts';
import { anEvent, aUser, firstPage } from '../conformance/fixtures.ts';
import { ofSession } from '../conformance/runs.ts';
import { type FilledTenant, fillStore } from '../moved-store.ts';
import { random } from '../random.ts';
import { runsOf } from '../runs.ts';
import {
  contentOf,
  dyingAfter,
  exportOf,
  importInto,
  type Operator,
  operatorOf,
  passphrase,
  trimRun,
} from '../tenant-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-tenant-'));
const now = Date.now();
let from: SqliteStore;
let tenant: FilledTenant;
let other: FilledTenant;
let file: readonly Uint8Array[];
const opened: SqliteStore[] = [];

async function newStore(): Promise<SqliteStore> {
  const store = await openSqliteInline(join(folder, `${opened.length}.db`));
  opened.push(store);
  return store;
}

const isEvent = (line: string): boolean => line.startsWith('{"kind":"events"');

const refusal = (code: string) => expect.objectContaining({ code });

beforeAll(async () => {
  from = await newStore();
  [tenant, other] = await fillStore(from, { now, sealed: 'sealed', events: 300 });
  file = await exportOf(operatorOf(from, now), tenant.tenantId);
});
afterAll(async () => {
  for (const store of opened) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Kinds of records that no file contains, and why. */
const leftOut: { readonly [kind: string]: string } = {
  seals: 'of the installation',
  tenants: 'in the first line',
  logins: 'people sign in again',
  signIns: 'follow from logins',
  operatorTokens: 'signed by the other hub',
  idempotency: 'of requests under way',
  exportLinks: 'the order begins anew',
  exportRemovals: 'the order begins anew',
  values: 'expire within days',
  jobs: 'the other hub works them',
};

/** The store keeps the jobs and erases them. */
const noJobs = { removeOfTenant: async () => 0 };

describe('a tenant file', () => {
  it('contains every kind of records, or there is a reason', () => {
    expect([...tenantFileKinds, ...Object.keys(leftOut)].sort()).toEqual([...recordKinds].sort());
  });

  it('is one gzip stream of JSON lines, without the secrets and without other tenants', () => {
    const lines = gunzipSync(Buffer.concat(file)).toString().trimEnd().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      format: 'reeve-tenant/1',
      tenant: { id: tenant.tenantId },
    });
    const kinds = (JSON.parse(lines.at(-1) ?? '') as { end: { kinds: object } }).end.kinds;
    expect(Object.values(kinds).reduce((sum, { records }) => sum + records, 0)).toBe(lines.length - 2);
    const text = lines.join('\n');
    expect(text).not.toContain(other.tenantId);
    expect(text).not.toContain(aUser({}).passwordHash);
    expect(Math.max(...file.map(({ byteLength }) => byteLength))).toBeLessThanOrEqual(8 << 20);
  });

  it('makes the same tenant on another hub', async () => {
    const store = await newStore();
    const { records } = await importInto(operatorOf(store, now), file);
    expect(records?.events).toBeGreaterThan(300);
    const [end] = (await store.audit.listLinks(tenant.tenantId, 1, 1e9, 1e9)).slice(-1);
    const lastLink = (end?.seq ?? 0) - 1;
    expect(await contentOf(store, tenant.tenantId, lastLink)).toEqual(
      await contentOf(from, tenant.tenantId, lastLink),
    );
    expect(await store.tenants.listIds()).toEqual([tenant.tenantId]);
    // The entries of the import and nothing else follow the signed head.
    expect(JSON.parse(end?.body ?? '{}')).toMatchObject({ action_type: 'tenant.imported' });
    expect(await store.keys.getByHash(tenant.keyHash)).not.toBeNull();
    const { agents, events } = await store.tenantRecords.getFigures(tenant.tenantId);
    expect({ agents, events }).toMatchObject({ agents: 1, events: records?.events });
    // Events have new ids (docs/adr/0047-event-ids-of-tenant-files.md); a repeat is still known by its call.
    const [sent] = gunzipSync(Buffer.concat(file)).toString().split('\n').filter(isEvent);
    const { id, env, call_id: callId, agent_id: agentId, verdict } = JSON.parse(sent ?? '{}').record;
    expect(await store.events.get(tenant.tenantId, id)).toBeNull();
    const repeat = aBatch(tenant.tenantId, [anEvent({ callId, agentId, verdict })], {
      env,
      receivedAt: now,
    });
    expect(await store.events.ingest(repeat)).toMatchObject({ accepted: 0, duplicates: 1 });
  });

  it('carries the marks of runs that lost events, and nothing of other runs', async () => {
    const trimming = await newStore();
    const [{ tenantId }] = await fillStore(trimming, { now, sealed: 'sealed', events: 10 });
    await trimRun(trimming, tenantId, now);
    const trimmedFile = await exportOf(operatorOf(trimming, now), tenantId);
    const runLines = gunzipSync(Buffer.concat(trimmedFile))
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('{"kind":"runs"'));
    expect(runLines.map((line) => JSON.parse(line).record)).toMatchObject([
      { sessionId: 'trimmed', isTrimmed: true, facts: null },
    ]);
    const store = await newStore();
    await importInto(operatorOf(store, now), trimmedFile);
    const runOf = (sessionId: string) => store.runs.get(tenantId, { agentId: 'agent-1', sessionId }, now);
    expect(await runOf('trimmed')).toMatchObject({ isTrimmed: true });
    expect(await runOf('blocked')).toMatchObject({ isTrimmed: false });
    expect(gunzipSync(Buffer.concat(file)).toString()).not.toContain('{"kind":"runs"');
  });

  it('brings decisions whose entries it does not contain, and the import adds one entry all the same', async () => {
    const { tenantId } = tenant;
    const late = ofSession('late', { callId: 'late', verdict: 'call_blocked', timestamp: now });
    // Agents report while the export begins.
    const readTenant: SqliteStore['readTenant'] = async (id) => {
      await from.events.ingest(aBatch(id, [late], { receivedAt: now }));
      return from.readTenant(id);
    };
    const lateFile = await exportOf(operatorOf({ ...from, readTenant }, now), tenantId);
    const signed = await from.audit.getSignedHead(tenantId);
    const store = await newStore();
    await importInto(operatorOf(store, now), lateFile);
    expect(await store.runs.get(tenantId, { agentId: 'agent-1', sessionId: 'late' }, now)).not.toBeNull();
    expect(await store.audit.getHead(tenantId)).toMatchObject({ seq: (signed?.seq ?? 0) + 1 });
  });

  it('can be sent again from any part on', async () => {
    const operator = operatorOf(await newStore(), now);
    const [head, ...parts] = file;
    const first = await operator.imports.begin(head ?? new Uint8Array(), passphrase);
    await operator.imports.createPart(first.id, 1, parts[0] ?? new Uint8Array());
    const again = await operator.imports.begin(head ?? new Uint8Array(), passphrase);
    expect(again.id).toBe(first.id);
    await expect(operator.imports.commit(first.id)).rejects.toEqual(refusal('conflict'));
    for (const [i, part] of parts.entries()) await operator.imports.createPart(first.id, i + 1, part);
    expect((await operator.imports.commit(first.id)).records).not.toBeNull();
    expect((await operator.imports.commit(first.id)).records).toBeNull();
    expect(await operator.store.tenantFiles.get(first.id)).toMatchObject({ isOpened: true, sealedKey: '' });
  });
});

describe('an import', () => {
  it('that is killed anywhere ends in the same tenant when it is repeated', async () => {
    const chance = random('kills');
    const whole = await newStore();
    await importInto(operatorOf(whole, now), file);
    const expected = await contentOf(whole, tenant.tenantId, 5);
    for (let run = 0; run < runsOf(100, 2); run++) {
      const store = await newStore();
      const dying = dyingAfter(store, chance.int(60), chance.int(2) === 0);
      await importInto(operatorOf(dying, now), file).catch((error) => expect(error.message).toBe('killed'));
      await importInto(operatorOf(store, now), file);
      expect(await contentOf(store, tenant.tenantId, 5)).toEqual(expected);
    }
  });

  it('that is not committed within 24 hours goes', async () => {
    const store = await newStore();
    const operator = operatorOf(store, now);
    const { id } = await operator.imports.begin(file[0] ?? new Uint8Array(), passphrase);
    for (const [i, part] of file.slice(1).entries()) await operator.imports.createPart(id, i + 1, part);
    expect(await removeTenantRecords(store, noJobs, operator.clock)).toBe(0);
    operator.clock.advance(24 * 3_600_000 + 60_000);
    for (let turn = 0; turn < 1000; turn++)
      if ((await removeTenantRecords(store, noJobs, operator.clock)) === 0) break;
    expect(await store.tenantRecords.get(tenant.tenantId)).toBeNull();
    expect(await store.keys.getByHash(tenant.keyHash)).toBeNull();
    await expect(operator.imports.commit(id)).rejects.toEqual(refusal('not_found'));
    expect((await importInto(operator, file)).records).not.toBeNull();
  });

  it('whose removal has begun takes no part, does not begin again, and does not open', async () => {
    const [head = new Uint8Array(), ...parts] = file;
    const another = await exportOf(operatorOf(from, now), tenant.tenantId);
    const endings: readonly ((operator: Operator) => Promise<unknown>)[] = [
      async ({ clock }) => clock.advance(24 * 3_600_000),
      ({ imports }) =>
        expect(imports.begin(another[0] ?? head, passphrase)).rejects.toEqual(refusal('conflict')),
    ];
    for (const end of endings) {
      const operator = operatorOf(await newStore(), now);
      const { imports, clock, store } = operator;
      const { id } = await imports.begin(head, passphrase);
      for (const [i, part] of parts.entries()) await imports.createPart(id, i + 1, part);
      await end(operator);
      expect(await removeTenantRecords(store, noJobs, clock)).toBeGreaterThan(0);
      await expect(imports.begin(head, passphrase)).rejects.toEqual(refusal('conflict'));
      await expect(imports.createPart(id, 1, parts[0] ?? head)).rejects.toEqual(refusal('not_found'));
      await expect(imports.commit(id)).rejects.toEqual(refusal('not_found'));
      expect(await store.tenants.listIds()).toEqual([]);
    }
  });

  it('that expires while it is committed does not open', async () => {
    const operator = operatorOf(await newStore(), now);
    const [head = new Uint8Array(), ...parts] = file;
    const { id } = await operator.imports.begin(head, passphrase);
    for (const [i, part] of parts.entries()) await operator.imports.createPart(id, i + 1, part);
    const { audit } = operator.store;
    const getSignedHead: typeof audit.getSignedHead = (tenantId) => {
      operator.clock.advance(24 * 3_600_000);
      return audit.getSignedHead(tenantId);
    };
    const slow = { ...operator.store, audit: { ...audit, getSignedHead } };
    const { imports } = operatorOf(slow, now, operator.clock);
    await expect(imports.commit(id)).rejects.toEqual(refusal('not_found'));
    expect(await operator.store.tenants.listIds()).toEqual([]);
  });

  it('refuses any changed byte, and nothing can be seen of it', async () => {
    const operator = operatorOf(await newStore(), now);
    const chance = random('tenant-file');
    for (let run = 0; run < runsOf(200); run++) {
      const number = chance.int(file.length);
      const bytes = Buffer.from(file[number] ?? []);
      const at = chance.int(bytes.length);
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << chance.int(8)), at);
      const changed = file.map((part, i) => (i === number ? bytes : part));
      await expect(importInto(operator, changed), `part ${number}, byte ${at}`).rejects.toEqual(
        refusal('unprocessable'),
      );
    }
    expect(await operator.tenants.list(10, null)).toEqual({ items: [], next: null });
    await expect(operator.tenants.get(tenant.tenantId)).rejects.toEqual(refusal('not_found'));
    expect(await operator.store.tenants.listIds()).toEqual([]);
    expect((await operator.store.tenantRecords.listClosed()).map(({ id }) => id)).toEqual([tenant.tenantId]);
  });

  it('refuses a part in the place of another, a file without its end, and another passphrase', async () => {
    const operator = operatorOf(await newStore(), now);
    const [head = new Uint8Array(), ...parts] = file;
    await expect(operator.imports.begin(head, 'another passphrase')).rejects.toEqual(
      refusal('unprocessable'),
    );
    const { id } = await operator.imports.begin(head, passphrase);
    await expect(operator.imports.createPart(id, 2, parts[0] ?? head)).rejects.toEqual(
      refusal('unprocessable'),
    );
    for (const [i, part] of parts.slice(0, -1).entries()) await operator.imports.createPart(id, i + 1, part);
    await expect(operator.imports.commit(id)).rejects.toEqual(refusal('conflict'));
  });

  it('refuses a tenant that is there, and an e-mail address of another tenant', async () => {
    await expect(importInto(operatorOf(from, now), file)).rejects.toEqual(refusal('conflict'));
    const operator = operatorOf(await newStore(), now);
    const [filled] = await fillStore(operator.store as SqliteStore, { now, sealed: 'sealed', events: 1 });
    const {
      items: [user],
    } = await from.tenants.listUsers(tenant.tenantId, firstPage);
    await operator.store.tenants.createUser(aUser({ tenantId: filled.tenantId, email: user?.email ?? '' }));
    await expect(importInto(operator, file)).rejects.toEqual(refusal('conflict'));
  });
});
