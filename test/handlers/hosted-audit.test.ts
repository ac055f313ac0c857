// The audit feed, its export and its heads on the hosted API, with what the offline check makes of a file.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChainCheck } from '../../packages/agent/src/cli/verify.ts';
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
const activeKey = async () => (await t.hub.store.signing.active(user.tenantId))?.publicKey ?? '';

/** What is wrong with a file, and where; null when nothing is. */
async function verified(text: string, keys?: readonly string[]): Promise<string | null> {
  const check = new ChainCheck(keys ?? [await activeKey()]);
  for (const [i, line] of text.trimEnd().split('\n').entries()) {
    const wrong = check.take(line);
    if (wrong !== null) return `${i + 1}: ${wrong}`;
  }
  return check.end();
}

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
    [{ subject_type: ['agent'] }],
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
    expect(await verified(without(1))).toContain('2: is link 3, and should be link 2');
    expect(await verified([lines[1], lines[0], ...lines.slice(2)].join('\n'))).toContain('2: is link 1');
    expect(await verified(without(4))).toBe('5: the signed head is not that of the link before it');
    expect(await verified(without(5))).toContain('does not end with a signed head');
    expect(await verified(lines.join('\n'), ['00'.repeat(32)])).toBe(
      '6: the head is not signed by a key that you trust',
    );
  });

  it('is for admins', async () => {
    await key();
    const viewer = t.operator(user, 'viewer');
    await expect(t.call('hostedExportAudit', {}, viewer)).rejects.toMatchObject({ code: 'forbidden' });
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
    const [link] = await t.hub.store.audit.links(user.tenantId, 2, 2, 1 << 20);
    expect(head.digest).toBe(link?.digest);
    expect(Buffer.from(sig, 'base64')).toHaveLength(64);
  });
});
