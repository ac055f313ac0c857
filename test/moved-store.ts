// A store with a record in every table, for tests of what carries whole stores. The tenants are two: nothing may be
// mixed up.
import { randomUUID } from 'node:crypto';
import type { SqliteStore } from '../adapters/sqlite/index.ts';
import type { ToolObservation } from '../src/tool/record.ts';
import { environmentRoom, keyRoom } from '../src/tool/record.ts';
import { entryIdOf } from '../src/tool/rules/identity.ts';
import { aStream } from './conformance/agent-streams.ts';
import { aChannel, aDelivery } from './conformance/channels.ts';
import { aBatch } from './conformance/events.ts';
import {
  aBundle,
  aComposition,
  aContract,
  aDeployment,
  aKey,
  aLogin,
  aNote,
  anApproval,
  anEvent,
  anItem,
  aRule,
  aSigningKey,
  aSuccession,
  aTenant,
  aUser,
  hex128,
  hostileTexts,
  sha256,
  writerOf,
} from './conformance/fixtures.ts';
import { removeAll } from './conformance/retention.ts';
import { ofSession } from './conformance/runs.ts';

const dayMs = 86_400_000;

export interface FilledTenant {
  readonly tenantId: string;
  readonly userId: string;
  readonly keyHash: string;
  readonly tokenHash: string;
  readonly approvalId: string;
}

function observation(tenantId: string, at: number): ToolObservation {
  const place = { tenantId, env: 'production' as const, server: 'files' };
  const tools = ['read', 'write'].map((tool) => {
    const definition = JSON.stringify({ description: `to ${tool}`, name: tool });
    const fingerprint = `sha256:${sha256(definition)}`;
    const id = entryIdOf({ ...place, tool, fingerprint }, sha256);
    return { id, tool, fingerprint, definition, bytes: definition.length };
  });
  const info = { name: 'Files', version: '1.0' };
  return { ...place, info, refused: [], agentId: 'agent-1', keyId: 'key-1', at, tools };
}

async function fillRules(store: SqliteStore, tenantId: string, keyId: string, now: number): Promise<void> {
  const contract = aContract({ tenantId, contractId: 'no-secrets' });
  await store.contracts.create(contract);
  const meta = { id: randomUUID(), createdBy: 'ada@example.org', createdAt: now };
  await store.contracts.update(tenantId, 'no-secrets', { name: 'No secrets at all' }, meta);
  await store.contracts.create(aContract({ tenantId, contractId: 'no.$mail' }));
  const items = [anItem({ contractId: 'no-secrets' }), anItem({ contractId: 'no.$mail', position: 20 })];
  await store.compositions.create(aComposition({ tenantId, name: 'base.$c', items }));
  for (const name of ['base', 'base', 'gone']) await store.bundles.upload(aBundle({ tenantId, name }));
  for (const version of [1, 2])
    await store.deployments.deploy(
      aDeployment({
        tenantId,
        version,
        signingKeyId: keyId,
        sequence: now + version,
        createdAt: now + version,
      }),
    );
  await store.deployments.deploy(
    aDeployment({ tenantId, env: 'staging', signingKeyId: keyId, sequence: 7, createdAt: now }),
  );
  await store.deployments.undeploy(tenantId, 'staging', 'base');
  await store.bundles.remove(tenantId, 'gone', now);
  const current = await store.deployments.listAllCurrent(tenantId);
  const signatures = current.map(({ id }) => ({
    deploymentId: id,
    signature: hex128(id),
    attestation: hex128(`a${id}`),
  }));
  await store.signing.rotate(tenantId, keyId, aSigningKey({ tenantId }), signatures, aSuccession());
  await store.rules.create(aRule({ tenantId }));
  const rooms = { environment: environmentRoom, key: keyRoom };
  await store.tools.observe(observation(tenantId, now), 0, rooms);
  await store.tools.updateMode({ tenantId, env: 'production', server: 'files', mode: 'hold', at: now });
}

async function fillActivity(
  store: SqliteStore,
  tenantId: string,
  now: number,
  events: number,
): Promise<string> {
  const hostile = hostileTexts.map((text, i) =>
    ofSession(`s-${text}`, {
      callId: `hostile-${i}`,
      agentId: `a${text}`,
      toolName: text,
      timestamp: now,
    }),
  );
  await store.events.ingest(aBatch(tenantId, hostile, { receivedAt: now }));
  const asked = ofSession('repeated', {
    callId: 'asked',
    verdict: 'call_approval_requested',
    timestamp: now,
  });
  await store.events.ingest(aBatch(tenantId, [asked], { receivedAt: now }));
  const told = { ...asked, verdict: 'call_executed', timestamp: now + 5 };
  await store.events.ingest(aBatch(tenantId, [told], { receivedAt: now + 5 }));
  const blocked = ofSession('blocked', { callId: 'blocked', verdict: 'call_blocked', timestamp: now });
  await store.events.ingest(aBatch(tenantId, [blocked], { receivedAt: now }));
  for (let from = 0; from < events; from += 500) {
    const batch = Array.from({ length: Math.min(500, events - from) }, (_, i) =>
      ofSession(`run-${(from + i) % 50}`, { callId: `call-${from + i}`, timestamp: now - from - i }),
    );
    await store.events.ingest(aBatch(tenantId, batch, { receivedAt: now }));
  }
  await store.events.ingest(aBatch(tenantId, [anEvent({ callId: 'sample' })], { sample: true }));
  const pending = anApproval({ tenantId, createdAt: now, timeoutSeconds: 3600 });
  await store.approvals.request(pending);
  const decided = anApproval({ tenantId, createdAt: now, toolArgs: null, argsBytes: 70_000 });
  const json = JSON.stringify({ text: 'x'.repeat(69_980) });
  const args = { id: decided.id, tenantId, env: 'production' as const, keyId: 'key-1', json };
  await store.approvals.createArgs({ ...args, bytes: json.length, createdAt: now }, 2 ** 30);
  await store.approvals.request(decided);
  const decision = { id: randomUUID(), approved: true, decidedBy: 'ada@example.org', reason: 'fine' };
  await store.approvals.decide(tenantId, decided.id, { ...decision, decidedVia: 'console' }, now);
  await store.approvals.announced(tenantId, 'approved', [decided.id]);
  await store.agents.noteSeen(tenantId, 'agent-1', 'production', now, randomUUID(), { api: 'console' });
  await store.agents.update(tenantId, 'agent-1', { tags: { team: 'mail' }, bundleName: 'base' });
  await store.agents.report(tenantId, 'production', {
    agentId: 'agent-1',
    bundleName: null,
    policyVersion: 'v1',
    at: now,
  });
  await store.agents.addLeftOut(tenantId, 5, 3);
  for (let i = 0; i < 5; i++) await store.audit.append([aNote({ tenantId, at: now })]);
  const head = await store.audit.getHead(tenantId);
  if (head)
    await store.audit.createHead({
      tenantId,
      seq: head.seq,
      digest: head.digest,
      signedAt: now,
      keyId: 'key',
      publicKey: sha256('public'),
      signature: 'c2ln',
    });
  return pending.id;
}

async function fillRest(store: SqliteStore, tenantId: string, now: number): Promise<void> {
  const writer = writerOf(tenantId);
  for (const [i, text] of hostileTexts.entries())
    await store.values.set(writer, `key-${i}-${text}`, `${text} value ${text}`, now);
  await store.values.increment(writer, 'counter', 2.5, now);
  await store.values.set(writer, 'expired', 'x', now - 8 * dayMs);
  await store.settings.update({
    tenantId,
    name: 'retention',
    value: { events: 30, approvals: 0, runs: 0, deliveries: 0 },
    updatedAt: now,
    updatedBy: 'ada@example.org',
  } as never);
  const channel = aChannel({ tenantId });
  await store.channels.create(channel, 100);
  await store.deliveries.create(aDelivery({ tenantId, channelId: channel.id }));
  const use = { inputTokens: 1, outputTokens: 2, durationMs: 3 };
  await store.aiUsage.add(tenantId, '2026-11-25', { ...use, cost: null });
  await store.aiUsage.add(tenantId, '2026-11-24', { ...use, cost: 0.5 });
  const request = { tenantId, id: sha256(tenantId), bodyHash: sha256('body') };
  const times = { now, runsUntil: now + 1000, expiresAt: now + dayMs };
  await store.idempotency.claim(request, 'new-id', times);
  await store.idempotency.answered(request, 'new-id', { status: 201, headers: { a: 'b' }, json: '{}' });
  await store.workspaces.create({ issuer: 'https://idp.example.com', workspaceId: tenantId }, tenantId);
  const job = {
    payload: { tenantId },
    runAt: now + dayMs,
    maxAttempts: 5,
    backoffMs: 1000,
    longestBackoffMs: 9000,
  };
  await store.jobs.add({ ...job, queue: 'deliveries', id: `later/${tenantId}` });
  await store.jobs.add({ ...job, queue: 'deliveries', id: `running/${tenantId}`, runAt: now - 5 });
  await store.jobs.add({ ...job, queue: 'other', id: `dead/${tenantId}`, runAt: now - 5 });
  await store.jobs.take('deliveries', 1, now, now + 60_000);
  const [dead] = await store.jobs.take('other', 1, now, now + 60_000);
  if (dead) await store.jobs.bury({ queue: 'other', id: dead.id, run: dead.run }, now, 'no such address');
}

async function fillTenant(store: SqliteStore, now: number, events: number): Promise<FilledTenant> {
  const tenant = aTenant({ createdAt: now });
  const tenantId = tenant.id;
  const user = aUser({ tenantId });
  const signingKey = aSigningKey({ tenantId });
  await store.tenants.create(tenant, user, signingKey);
  await store.tenants.createUser(aUser({ tenantId, roles: [{ role: 'viewer', env: 'staging' }] }));
  const login = aLogin({ tenantId, userId: user.id, createdAt: now, expiresAt: now + dayMs });
  await store.logins.create(login);
  await store.logins.signedInFrom(user.id, '192.0.2.0/24', now);
  const account = { issuer: 'https://idp.example.com', subject: user.id, userId: user.id, tenantId };
  await store.identities.create({ ...account, linkedAt: now });
  const key = aKey({ tenantId, revokedAt: null });
  await store.keys.create(key);
  await store.keys.create(aKey({ tenantId, env: null, revokedAt: now }));
  const by = { tenantId, createdBy: 'ada@example.org', createdAt: now };
  const service = { ...by, id: randomUUID(), name: 'ci', roles: user.roles };
  await store.serviceAccounts.create(service);
  const token = { ...by, id: randomUUID(), accountId: service.id, label: 'deploys', hash: sha256(tenantId) };
  await store.serviceAccounts.createToken({ ...token, expiresAt: now + dayMs, lastUsedAt: null });
  const operator = { ...by, id: randomUUID(), role: 'viewer' as const, expiresAt: now + dayMs };
  await store.operatorTokens.create({ ...operator, revokedAt: null });
  const view = {
    ...by,
    id: randomUUID(),
    ownerId: user.id,
    page: 'explore',
    name: 'denied',
    query: 'verdict:denied',
  };
  await store.views.create({ ...view, isShared: true }, 100);
  await store.agentStreams.record([aStream({ tenantId }), aStream({ tenantId, endedAt: null })]);
  await fillRules(store, tenantId, signingKey.id, now);
  const approvalId = await fillActivity(store, tenantId, now, events);
  await fillRest(store, tenantId, now);
  return { tenantId, userId: user.id, keyHash: key.hash, tokenHash: login.tokenHash, approvalId };
}

/**
 * @param sealed the text that the master secret opens
 * @param events of the first tenant, besides some of each form
 */
export async function fillStore(
  store: SqliteStore,
  { now, sealed, events = 500 }: { readonly now: number; readonly sealed: string; readonly events?: number },
): Promise<readonly [FilledTenant, FilledTenant]> {
  await store.keyCheck.first('master', sealed);
  const first = await fillTenant(store, now, events);
  const second = await fillTenant(store, now + 1, 20);
  // Leaves a count that no audit entry has yet.
  const old = anEvent({ callId: 'old', timestamp: now - 90 * dayMs });
  await store.events.ingest(aBatch(second.tenantId, [old], { receivedAt: now - 90 * dayMs }));
  await removeAll(store, second.tenantId, 'events', now - 60 * dayMs, 100);
  return [first, second];
}
