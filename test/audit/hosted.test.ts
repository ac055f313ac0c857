// The audit feed, its export and its heads on the hosted API, with what the offline check makes of a file.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeCrypto } from '../../packages/agent/src/cli/signed.ts';
import { ChainCheck } from '../../packages/agent/src/evidence/chain.ts';
import { makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let admin: OperatorCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  admin = t.operator(user);
});
afterEach(() => t.close());

const key = async () => (await t.call('hostedCreateKey', { body: { name: 'fleet' } }, admin)).body;
const list = async (query: { [name: string]: string | string[] } = {}, as = admin) =>
  (await t.call('hostedListAudit', { query: query as never }, as)).body;
const file = async (query: { [name: string]: string } = {}) =>
  String((await t.call('hostedExportAudit', { query }, admin)).body);
const activeKey = async () => (await t.hub.store.signing.getActive(user.tenantId))?.publicKey ?? '';

/** The fault in a file, and its place; null when there is none. */
async function verified(text: string, keys?: readonly string[]): Promise<string | null> {
  const check = new ChainCheck(keys ?? [await activeKey()], nodeCrypto);
  for (const [i, line] of text.trimEnd().split('\n').entries()) {
    const wrong = await check.take(line);
    if (wrong !== null) return `${i + 1}: ${wrong}`;
  }
  return check.end();
}

describe('an event with half of a surrogate pair', () => {
  it('leaves a chain that can be verified', async () => {
    const half = '\ud83d';
    const event = {
      ...{ agent_id: 'agent-1', session_id: `s${half}`, call_id: `c${half}`, action: 'call_blocked' },
      // A cut of the summary would halve the pair.
      tool_name: `${'x'.repeat(99)}😀`,
      ...{ decision_name: `rule${half}`, timestamp: new Date(t.clock.now()).toISOString() },
    };
    const agent = { ...t.key(user), kind: 'hostedKey' as const, env: null };
    await t.call('hostedIngestEvents', { body: { events: [event] } }, agent);
    const { entries } = await list();
    expect(entries[0]).toMatchObject({ session_id: 's\\ud83d', details: { rule: 'rule\\ud83d' } });
    expect(await verified(await file())).toBeNull();
  });
});

describe('entries of environments', () => {
  const actionsOf = async (env: 'production' | 'staging') => {
    const { entries } = await list({ scope: 'all' }, { ...admin, roles: [{ role: 'viewer', env }] });
    return entries.map(({ action_type: action }) => action);
  };

  it('contain the new name of an agent only where the agent was seen', async () => {
    const agent = t.key(user, 'production', 'pay-prod');
    const event = { agent_id: 'pay-prod', call_id: 'c-1', action: 'call_allowed', tool_name: 'pay' };
    const timestamp = new Date(t.clock.now()).toISOString();
    await t.call('ingestEvents', { body: { events: [{ ...event, timestamp }] } }, agent);
    const body = { display_name: 'Payments' };
    await t.call('updateRegistration', { params: { agent_id: 'pay-prod' }, body }, user);
    expect(await actionsOf('production')).toContain('agent.updated');
    expect(await actionsOf('staging')).not.toContain('agent.updated');
  });

  it('contain a rule that moves only for people who see both', async () => {
    const rule = { priority: 1, pattern: 'web-*', bundle_name: 'base', env: 'staging' };
    const { id: rule_id } = (await t.call('createRule', { body: rule }, user)).body;
    await t.call('updateRule', { params: { rule_id }, body: { priority: 2 } }, user);
    expect(await actionsOf('staging')).toContain('assignment_rule.updated');
    t.clock.advance(1000);
    await t.call('updateRule', { params: { rule_id }, body: { env: 'production' } }, user);
    const count = async (env: 'production' | 'staging') =>
      (await actionsOf(env)).filter((action) => action === 'assignment_rule.updated').length;
    expect([await count('staging'), await count('production')]).toEqual([1, 0]);
    expect((await list({ scope: 'all' })).entries[0]).toMatchObject({
      details: { envs: ['staging', 'production'] },
    });
  });
});

describe('a query of the audit', () => {
  const actions = async (q: string, more: { [name: string]: string | string[] } = {}) =>
    (await list({ q, scope: 'all', ...more })).entries.map(({ action_type: action }) => action);

  it('compares actor, action, subject, agent, run and words, with - and * and brackets', async () => {
    const newKey = await key();
    t.clock.advance(1000);
    await t.call('revokeKey', { params: { key_id: newKey.id } }, user);
    expect(await actions('subject:key')).toEqual(['key.revoked', 'key.created']);
    expect(await actions('action:key.* -action:key.revoked')).toEqual(['key.created']);
    expect(await actions('action:(key.created,key.none)')).toEqual(['key.created']);
    expect(await actions(`by:${user.userId} subject:key`)).toEqual(['key.revoked']);
    expect(await actions('by:* fleet subject:key')).toContain('key.created');
    expect(await actions('by:ann@example.com subject:approval')).toEqual([]);
    expect(await actions('subject:key agent:*')).toEqual([]);
    expect(await actions('subject:key -agent:*')).toHaveLength(2);
    expect(await actions('subject:key', { action_type: ['key.created'] })).toEqual(['key.created']);
    expect(await actions('subject:key', { subject_type: ['approval'] })).toEqual([]);
    // From page to page, and not with the cursor of another query.
    const first = await list({ q: 'subject:key', scope: 'all', limit: '1' });
    expect(first.next_cursor).not.toBeNull();
    const cursor = first.next_cursor ?? '';
    expect(await actions('subject:key', { limit: '1', cursor })).toEqual(['key.created']);
    await expect(actions('subject:channel', { cursor })).rejects.toMatchObject({ code: 'bad_request' });
    await expect(actions('subject:nonsense')).rejects.toMatchObject({
      code: 'validation_failed',
      message: expect.stringMatching(/position 8: expected one of/),
    });
  });

  it('ends a page when its time is over, with a cursor for the rest', async () => {
    await key();
    const { audit } = t.hub.store;
    const listEntries = audit.list.bind(audit);
    // A store whose portions are full, each of one entry, and slow.
    Object.assign(audit, {
      list: async (...[tenantId, filter, before]: Parameters<typeof listEntries>) => {
        t.clock.advance(2_000);
        const [entry] = await listEntries(tenantId, filter, before, 1);
        return entry ? Array.from({ length: 500 }, () => entry) : [];
      },
    });
    const first = await list({ q: 'nothing', scope: 'all' });
    expect(first).toMatchObject({ entries: [], has_more: true, next_cursor: expect.any(String) });
    Object.assign(audit, { list: listEntries });
    const rest = await list({ q: 'nothing', scope: 'all', cursor: first.next_cursor ?? '' });
    expect(rest).toMatchObject({ entries: [], has_more: false, next_cursor: null });
  });
});

describe('the feed', () => {
  it('says who did what to which key, newest first, without the key', async () => {
    const made = await key();
    t.clock.advance(1000);
    await t.call('revokeKey', { params: { key_id: made.id } }, user);
    const { entries, next_cursor } = await list();
    expect(next_cursor).toBeNull();
    expect(entries).toMatchObject([
      {
        action_type: 'key.revoked',
        actor: { type: 'operator', id: user.userId, display: 'ann@example.com' },
        subject: { type: 'key', id: made.id, name: null },
        details: { name: 'fleet', prefix: made.prefix },
      },
      { action_type: 'key.created', subject: { name: 'fleet' }, details: { env: null } },
    ]);
    expect(JSON.stringify(entries)).not.toContain(made.key.slice(12));
    expect((await list({}, t.operator(await t.tenant()))).entries).toEqual([]);
  });

  it('goes page by page, whatever is written meanwhile', async () => {
    for (let i = 0; i < 5; i++) await key();
    const first = await list({ limit: '2' });
    await key();
    const second = await list({ limit: '2', cursor: String(first.next_cursor) });
    const third = await list({ limit: '2', cursor: String(second.next_cursor) });
    expect(third.next_cursor).toBeNull();
    const ids = [...first.entries, ...second.entries, ...third.entries].map(({ id }) => id);
    expect(new Set(ids).size).toBe(5);
  });

  it('lists the acts of people alone, page by page, whatever the hub and agents did between', async () => {
    for (let i = 0; i < 3; i++) await key();
    const note = (n: number) => ({
      id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      tenantId: user.tenantId,
      at: t.clock.now(),
      actor: { type: 'system' as const, id: 'hub', display: 'the hub' },
      action: 'key.revoked' as const,
      subject: { id: 'x', name: null },
      summary: 'The hub did this.',
      details: {},
      agentId: null,
      sessionId: null,
    });
    for (let n = 0; n < 600; n += 100) {
      await t.hub.store.audit.append(Array.from({ length: 100 }, (_, at) => note(n + at)));
    }
    await key();
    const people = { actor_type: ['operator', 'chat'] };
    const first = await list({ limit: '2', ...people });
    expect(first.entries.map(({ actor }) => actor.type)).toEqual(['operator', 'operator']);
    const second = await list({ limit: '2', ...people, cursor: String(first.next_cursor) });
    expect([second.entries.length, second.next_cursor]).toEqual([2, null]);
    const hub = await list({ limit: '200', actor_type: ['system'] });
    expect([hub.entries.length, hub.has_more]).toEqual([200, true]);
    expect((await list({ actor_type: ['agent'] })).entries).toEqual([]);
  });

  it('refuses a cursor of another question, another workspace, or of nobody', async () => {
    for (let i = 0; i < 3; i++) await key();
    const cursor = String((await list({ limit: '1' })).next_cursor);
    const refused = { detail: { reason: 'invalid_cursor' } };
    await expect(list({ limit: '1', cursor, actor: 'x' })).rejects.toMatchObject(refused);
    await expect(list({ limit: '1', cursor }, t.operator(await t.tenant()))).rejects.toMatchObject(refused);
    await expect(list({ limit: '1', cursor: 'AAAA' })).rejects.toMatchObject(refused);
  });

  it('is asked by actor, action, type and time', async () => {
    await key();
    expect((await list({ actor: 'ANN@example.com' })).entries).toHaveLength(1);
    expect((await list({ actor: 'bob' })).entries).toHaveLength(0);
    expect((await list({ action_type: ['key.created', 'key.revoked'] })).entries).toHaveLength(1);
    expect((await list({ subject_type: ['ruleset'] })).entries).toHaveLength(0);
    const now = t.clock.now();
    expect((await list({ from: new Date(now + 1).toISOString() })).entries).toHaveLength(0);
    t.clock.advance(31 * 24 * 3_600_000);
    expect((await list()).entries).toHaveLength(0);
    expect((await list({ from: new Date(now).toISOString() })).entries).toHaveLength(1);
  });

  it('lists the rest of the subjects when they are asked for', async () => {
    await key();
    const actor = { type: 'system', id: 'x', display: 'x' } as const;
    const note = { tenantId: user.tenantId, at: t.clock.now(), actor, summary: 's', details: {} };
    const more = { agentId: null, sessionId: null, subject: { id: 'u', name: null } };
    await t.hub.store.audit.append([{ ...note, ...more, id: t.hub.secrets.uuid(), action: 'user.created' }]);
    expect((await list()).entries.map(({ action_type }) => action_type)).toEqual(['key.created']);
    // The tenant's first user is the first entry.
    expect((await list({ scope: 'all' })).entries).toHaveLength(3);
    expect((await list({ subject_type: ['user'] })).entries).toHaveLength(2);
  });

  it.each([
    [{ limit: '0' }],
    [{ limit: '201' }],
    [{ from: 'yesterday' }],
    [{ subject_type: ['planet'] }],
    [{ scope: 'some' }],
  ])('refuses %o', async (query) => {
    await expect(list(query as never)).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

describe('an export', () => {
  it('is whole, and the offline check agrees', async () => {
    for (let i = 0; i < 4; i++) await key();
    expect(await verified(await file())).toBeNull();
    expect(await verified(`${await file({ to_seq: '2' })}${await file({ from_seq: '3' })}`)).toBeNull();
    expect(await verified(await file({ from_seq: '2' }))).toBeNull();
  });

  it('shows a line that was changed, taken out, moved or cut off, and where', async () => {
    for (let i = 0; i < 4; i++) await key();
    const lines = (await file()).trimEnd().split('\n');
    const without = (index: number) => lines.filter((_, i) => i !== index).join('\n');
    expect(await verified(lines.join('\n').replace('ann@example.com', 'eve@example.com'))).toBe(
      '1: link 1 was changed',
    );
    expect(await verified(without(1))).toContain('2: is link 3 instead of link 2');
    expect(await verified([lines[1], lines[0], ...lines.slice(2)].join('\n'))).toContain('2: is link 1');
    expect(await verified(without(4))).toBe('5: the signed head does not belong to the link before it');
    expect(await verified(without(5))).toContain('does not end with a signed head');
    expect(await verified(lines.join('\n'), ['00'.repeat(32)])).toBe(
      '6: the head is not signed by a trusted key',
    );
  });

  it('of a period has its links and their signed head', async () => {
    const seqs = async (query: { [name: string]: string }) =>
      (await file(query))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).seq ?? 'head');
    const times: string[] = [];
    const whole = async () => (await seqs({})).length - 1;
    await key();
    const first = await whole();
    for (let n = 0; n < 3; n++) {
      t.clock.advance(60_000);
      times.push(new Date(t.clock.now()).toISOString());
      await key();
    }
    const [a = '', b = '', c = ''] = times;
    expect(await seqs({ from: a, to: c })).toEqual([first + 1, first + 2, 'head']);
    expect(await seqs({ from: b })).toEqual([first + 2, first + 3, 'head']);
    expect((await seqs({ to: b })).at(-2)).toBe(first + 1);
    expect(await seqs({ from: a, from_seq: `${first + 3}` })).toEqual([first + 3, 'head']);
    expect(await verified(await file({ from: b, to: c }))).toBeNull();
    t.clock.advance(60_000);
    const later = new Date(t.clock.now()).toISOString();
    await expect(file({ from: later })).rejects.toMatchObject({ code: 'not_found' });
    await expect(file({ from: c, to: b })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is for admins', async () => {
    await key();
    const viewer = t.operator(user, 'viewer');
    await expect(t.call('hostedExportAudit', {}, viewer)).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('with AUDIT_RETENTION_DAYS', () => {
  const day = 24 * 3_600_000;
  beforeEach(async () => {
    await t.close();
    t = await makeHub({ auditRetentionDays: 30 });
    user = await t.tenant('ann@example.com');
    admin = t.operator(user);
  });

  /** Two links, signed, 31 days, and three more. */
  async function grown(): Promise<void> {
    await key();
    await t.hub.app.auditLog.signHeads();
    t.clock.advance(31 * day);
    for (let i = 0; i < 3; i++) await key();
    while ((await t.hub.app.auditLog.retain()) > 0);
  }

  it('the kept tail begins with the head that covers what is gone, and is checked with it', async () => {
    await key();
    const before = (await file()).split('\n')[1] ?? '';
    await grown();
    const text = await file();
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => line.seq ?? `head ${line.head.seq}`)).toEqual(['head 3', 4, 5, 6, 'head 6']);
    expect(await verified(text)).toBeNull();
    expect(await verified(await file({ from_seq: '2' }))).toBeNull();
    expect(await verified(await file({ from_seq: '5' }))).toBeNull();
    await expect(file({ to_seq: '3' })).rejects.toMatchObject({ code: 'not_found' });
    // An older file and the kept tail do not fit together: what was between them is gone.
    expect(await verified(`${before}\n${text}`)).toContain('does not belong to the link before it');
    expect((await list({ scope: 'all' })).entries).toHaveLength(3);
  });

  it('a changed, missing or moved line of the tail is found, and a wrong beginning', async () => {
    await grown();
    const lines = (await file()).trimEnd().split('\n');
    const without = (index: number) => lines.filter((_, i) => i !== index).join('\n');
    expect(await verified(lines.join('\n').replace('"fleet"', '"f1eet"'))).toBe('2: link 3 was changed');
    expect(await verified(without(1))).toContain('2: is link 4 instead of link 3');
    expect(await verified(without(2))).toContain('3: is link 5 instead of link 4');
    expect(await verified([lines[0], lines[2], lines[1], ...lines.slice(3)].join('\n'))).toContain(
      '2: is link 4',
    );
    expect(await verified(without(lines.length - 1))).toContain('does not end with a signed head');
    expect(await verified([lines[0], ...lines].join('\n'))).toContain('second head');
    const forged = (lines[0] ?? '').replace(/"digest":"[0-9a-f]{64}"/, `"digest":"${'0'.repeat(64)}"`);
    expect(await verified([forged, ...lines.slice(1)].join('\n'))).toBe(
      '1: the head is not signed by a trusted key',
    );
    expect(await verified([forged, ...lines.slice(1)].join('\n'), [])).toContain('link 3 does not follow');
  });

  it('nothing goes that is young, or that no head covers', async () => {
    await key();
    t.clock.advance(29 * day);
    await t.hub.app.auditLog.signHeads();
    expect(await t.hub.app.auditLog.retain()).toBe(0);
    expect(await verified(await file())).toBeNull();
  });
});

describe('heads', () => {
  it('are signed for every chain that grew, and the newest is shown', async () => {
    await expect(t.call('hostedAuditHead', {}, admin)).rejects.toMatchObject({ code: 'not_found' });
    await key();
    expect(await t.hub.app.auditLog.signHeads()).toBe(1);
    expect(await t.hub.app.auditLog.signHeads()).toBe(0);
    const { head, sig } = (await t.call('hostedAuditHead', {}, admin)).body;
    expect(head).toMatchObject({ tenant_id: user.tenantId, seq: 2 });
    const [link] = await t.hub.store.audit.listLinks(user.tenantId, 2, 2, 1 << 20);
    expect(head.digest).toBe(link?.digest);
    expect(Buffer.from(sig, 'base64')).toHaveLength(64);
  });
});
