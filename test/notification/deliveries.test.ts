// Deliveries: which channels hear of an approval, retries, the log, replay, and that a slow receiver holds up nobody
// else.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Delivery } from '../../src/notification/record.ts';
import { memberRoles } from '../../src/shared/env-roles.ts';
import { HubError } from '../../src/shared/error.ts';
import { settled } from '../clock.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { type Receiver, startReceiver, status } from '../receiver.ts';

const second = 1000;
const hour = 3600 * second;

let t: TestHub;
let user: UserCaller;
let receiver: Receiver;
let asked = 0;
beforeEach(async () => {
  receiver = await startReceiver();
  t = await makeHub({ chatBotUrl: receiver.url, baseUrl: 'https://hub.example' });
  user = await t.tenant('ann@example.com');
});
afterEach(async () => {
  await t.close();
  await receiver.close();
});

const webhook = async (more: object = {}, as = user) =>
  (
    await t.call(
      'createChannel',
      {
        body: {
          name: 'hook',
          channel_type: 'webhook',
          config: { url: `${receiver.url}/hook`, secret: 'key' },
          ...more,
        },
      },
      as,
    )
  ).body;
const ask = async (more: object = {}, as = user, agent = 'agent-1') =>
  (
    await t.call(
      'createApproval',
      // Each of another session: the same request a moment later would be the same approval.
      { body: { tool_name: 'rm', message: 'may I?', timeout: 300, session_id: `s${++asked}`, ...more } },
      t.key(as, 'production', agent),
    )
  ).body;
const decide = (approval_id: string, approved = true, reason?: string) =>
  t.call('decideApproval', { params: { approval_id }, body: { approved, reason } }, user);
const deliveries = async (channel_id: string, query: { [name: string]: string } = {}) =>
  (await t.call('listDeliveries', { params: { channel_id }, query }, user)).body as {
    id: string;
    event: string;
    status: string;
    attempts: number;
    next_attempt_at: string | null;
    log: { status: number | null; error: string | null }[];
  }[];
const replay = (channel_id: string, delivery_id: string) =>
  t.call('replayDelivery', { params: { channel_id, delivery_id } }, user);

/** Waits, without time passing, until the only delivery of this event is as the test expects. */
const reaches = (channelId: string, event: Delivery['event'], wanted: object) =>
  expect
    .poll(async () => (await deliveries(channelId)).find((one) => one.event === event))
    .toMatchObject(wanted);

/** Moves time to the next attempt and waits until it was made. */
async function nextAttempt(count: number): Promise<void> {
  const before = receiver.received.length;
  for (let steps = 0; receiver.received.length < before + count && steps < 5000; steps++) {
    t.clock.advance(30 * second);
    for (let i = 0; i < 20; i++) await settled();
  }
  await receiver.atLeast(before + count);
}

describe('an approval', () => {
  it('of which a mail server refused some addresses is delivered once, with a warning', async () => {
    const refused = ['bob@example.com'];
    const outcome = { kind: 'delivered', status: 250, messageId: null, refused } as const;
    const send = vi.spyOn(t.hub.messengers, 'send').mockResolvedValue(outcome);
    const warn = vi.spyOn(t.hub.log, 'warn');
    const channel = await webhook();
    await ask();
    await reaches(channel.id, 'requested', { status: 'delivered', attempts: 1 });
    expect(send).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(
      expect.objectContaining({ channel: channel.id, refused: 1 }),
      'the mail server refused some addresses',
    );
    expect(JSON.stringify(warn.mock.calls)).not.toContain('bob@');
  });

  it('is told to a webhook as documented, signed in both ways over the exact bytes', async () => {
    await webhook();
    const approval = await ask({ tool_args: { path: '/é' }, contract_name: 'files' });
    const [sent] = await receiver.atLeast(1);
    expect(sent?.body).toEqual({
      event: 'approval_requested',
      approval_id: approval.id,
      agent_id: 'agent-1',
      tool_name: 'rm',
      tool_args: { path: '/é' },
      message: 'may I?',
      env: 'production',
      timeout_seconds: 300,
      timeout_effect: 'deny',
      tenant_id: user.tenantId,
      contract_name: 'files',
    });
    const { headers = {}, text = '' } = sent ?? {};
    expect(headers['content-type']).toBe('application/json');
    expect(headers['x-service-signature']).toBe(`sha256=${t.hub.secrets.hmac('key', text)}`);
    const id = String(headers['webhook-id']);
    const seconds = String(headers['webhook-timestamp']);
    expect(Number(seconds)).toBe(Math.floor(t.clock.now() / second));
    const hex = t.hub.secrets.hmac('key', `${id}.${seconds}.${text}`);
    expect(headers['webhook-signature']).toBe(`v1,${Buffer.from(hex, 'hex').toString('base64')}`);
  });

  it('has no contract_name and no signature where there is none', async () => {
    await webhook({ config: { url: `${receiver.url}/hook` } });
    await ask();
    const [sent] = await receiver.atLeast(1);
    expect(sent?.body).not.toHaveProperty('contract_name');
    expect(sent?.body.tool_args).toBeNull();
    expect(sent?.headers).not.toHaveProperty('x-service-signature');
    expect(sent?.headers).not.toHaveProperty('webhook-signature');
    expect(sent?.headers['webhook-id']).toMatch(/^msg_/);
  });

  it('brings large arguments whole', async () => {
    await webhook();
    const tool_args = { text: 'x'.repeat(100_000) };
    await ask({ tool_args });
    const [sent] = await receiver.atLeast(1);
    expect(sent?.body.tool_args).toEqual(tool_args);
  });

  it.each([
    [true, 'approved', 'fine', 'fine'],
    [false, 'denied', undefined, null],
  ])('that is decided (%s) is told to whom its request was delivered', async (approved, is, reason, told) => {
    const channel = await webhook();
    await webhook({ filters: { environments: ['staging'] } });
    const approval = await ask();
    await reaches(channel.id, 'requested', { status: 'delivered' });
    await decide(approval.id, approved, reason);
    await reaches(channel.id, 'decided', { status: 'delivered' });
    expect(receiver.received.map(({ body }) => body.event)).toEqual([
      'approval_requested',
      'approval_decided',
    ]);
    expect(receiver.received[1]?.body).toEqual({
      event: 'approval_decided',
      approval_id: approval.id,
      status: is,
      decided_by: 'ann@example.com',
      reason: told,
    });
  });

  it('that times out is not told to a webhook', async () => {
    const channel = await webhook();
    await ask({ timeout: 10 });
    await reaches(channel.id, 'requested', { status: 'delivered' });
    await t.clock.advanceAsync(11 * second, 500);
    const other = await ask();
    await receiver.atLeast(2);
    expect(receiver.received.map(({ body }) => body.event)).toEqual([
      'approval_requested',
      'approval_requested',
    ]);
    expect(receiver.received[1]?.body.approval_id).toBe(other.id);
    expect(await deliveries(channel.id)).toHaveLength(2);
  });

  it('is told once, however often it is announced', async () => {
    const channel = await webhook();
    const approval = await ask();
    await reaches(channel.id, 'requested', { status: 'delivered' });
    const key = `${user.tenantId}/production`;
    for (let i = 0; i < 3; i++)
      await t.hub.actors.ask('environment', key, 'announceApproval', { id: approval.id });
    await ask();
    await receiver.atLeast(2);
    expect(receiver.received.filter(({ body }) => body.approval_id === approval.id)).toHaveLength(1);
  });

  it('of another tenant is told to nobody here, and a disabled channel hears of nothing', async () => {
    await webhook({ enabled: false });
    const own = await webhook({ config: { url: `${receiver.url}/own` } });
    await ask({}, await t.tenant());
    await ask();
    await reaches(own.id, 'requested', { status: 'delivered' });
    expect(receiver.received.map(({ path }) => path)).toEqual(['/own']);
  });
});

describe('filters', () => {
  it.each([
    ['nothing', {}, true],
    ['empty lists', { environments: [], agent_patterns: [], contract_names: [] }, true],
    ['its environment', { environments: ['staging', 'production'] }, true],
    ['another environment', { environments: ['staging'] }, false],
    ['its agent', { agent_patterns: ['x', 'agent-*'] }, true],
    ['another agent', { agent_patterns: ['Agent-*'] }, false],
    ['its contract', { contract_names: ['file?'] }, true],
    ['another contract', { contract_names: ['shell'] }, false],
    ['its rule', { ruleset_names: ['files'] }, true],
    ['another of its contracts', { contract_names: ['network'] }, true],
    ['one that fits and one that does not', { environments: ['production'], agent_patterns: ['x'] }, false],
  ])('that ask for %s', async (_what, filters, heard) => {
    const filtered = await webhook({ filters, config: { url: `${receiver.url}/filtered` } });
    const all = await webhook({ config: { url: `${receiver.url}/all` } });
    await ask({ contract_name: 'files', contracts: [{ name: 'network', message: 'm' }] });
    await reaches(all.id, 'requested', { status: 'delivered' });
    expect(await deliveries(filtered.id)).toHaveLength(heard ? 1 : 0);
  });

  it('by contract let an approval without one pass', async () => {
    const channel = await webhook({ filters: { contract_names: ['shell'] } });
    await ask();
    await reaches(channel.id, 'requested', { status: 'delivered' });
  });
});

describe('an attempt that fails', () => {
  it.each([408, 429, 500, 503])('with %i is made again, with the same id', async (code) => {
    const channel = await webhook();
    receiver.answer = status(code);
    await ask();
    await reaches(channel.id, 'requested', { status: 'waiting', attempts: 1 });
    receiver.answer = () => undefined;
    await nextAttempt(1);
    await reaches(channel.id, 'requested', { status: 'delivered', attempts: 2 });
    const [first, again] = receiver.received;
    expect(again?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(again?.text).toBe(first?.text);
    const [{ log } = { log: [] }] = await deliveries(channel.id);
    expect(log.map((one) => one.status)).toEqual([code, 200]);
    expect(log.map((one) => one.error)).toEqual([code === 429 ? 'rate_limited' : 'status', null]);
  });

  it.each([301, 400, 401, 403, 404, 422])('with %i is the last', async (code) => {
    const channel = await webhook();
    receiver.answer = status(code, { Location: `${receiver.url}/elsewhere` });
    await ask();
    await reaches(channel.id, 'requested', { status: 'dead', attempts: 1, next_attempt_at: null });
    expect(receiver.received).toHaveLength(1);
  });

  it('by a cut connection is made again', async () => {
    const channel = await webhook();
    receiver.answer = (_received, response) => response.destroy();
    await ask();
    await reaches(channel.id, 'requested', {
      status: 'waiting',
      log: [{ status: null, error: 'connection' }],
    });
  });

  it('with 410 disables the channel', async () => {
    const channel = await webhook();
    receiver.answer = status(410);
    await ask();
    await reaches(channel.id, 'requested', { status: 'dead', log: [{ status: 410, error: 'channel_gone' }] });
    await expect.poll(async () => (await t.call('listChannels', {}, user)).body[0]?.enabled).toBe(false);
  });

  it('waits as long as the receiver asks', async () => {
    const channel = await webhook();
    receiver.answer = status(429, { 'Retry-After': '120' });
    await ask();
    await reaches(channel.id, 'requested', { status: 'waiting', attempts: 1 });
    const [{ next_attempt_at } = { next_attempt_at: null }] = await deliveries(channel.id);
    const wait = Date.parse(next_attempt_at ?? '') - t.clock.now();
    expect(wait).toBeGreaterThanOrEqual(120 * second);
    expect(wait).toBeLessThan(121 * second);
  });

  it('of a request ends with its approval, as expired', async () => {
    const channel = await webhook();
    receiver.answer = status(500);
    const approval = await ask();
    await reaches(channel.id, 'requested', { status: 'waiting', attempts: 1 });
    await decide(approval.id);
    await reaches(channel.id, 'requested', { status: 'expired' });
    expect(await deliveries(channel.id)).toHaveLength(1);
    const late = await ask({ timeout: 20 });
    await expect.poll(async () => (await deliveries(channel.id))[0]?.status).toBe('waiting');
    await t.clock.advanceAsync(25 * second, 500);
    await expect.poll(async () => (await deliveries(channel.id))[0]?.status).toBe('expired');
    expect((await t.call('getApproval', { params: { approval_id: late.id } }, user)).body.status).toBe(
      'timeout',
    );
  });

  it('of a decision is made again for 72 hours, ever more seldom', async () => {
    const channel = await webhook();
    const approval = await ask();
    await reaches(channel.id, 'requested', { status: 'delivered' });
    receiver.answer = status(503);
    const decidedAt = t.clock.now();
    await decide(approval.id);
    await reaches(channel.id, 'decided', { status: 'waiting', attempts: 1 });
    const waits: number[] = [];
    for (;;) {
      const [one] = await deliveries(channel.id, { status: 'waiting' });
      if (!one?.next_attempt_at) break;
      waits.push(Date.parse(one.next_attempt_at) - t.clock.now());
      t.clock.advance(Date.parse(one.next_attempt_at) - t.clock.now());
      await expect
        .poll(async () => {
          t.clock.advance(0);
          const [now] = (await deliveries(channel.id)).filter(({ event }) => event === 'decided');
          return now?.status === 'dead' || (now?.attempts ?? 0) > one.attempts;
        })
        .toBe(true)
        .catch(() => t.clock.advance(second));
    }
    expect(waits.length).toBeGreaterThan(12);
    expect(Math.max(...waits)).toBeLessThanOrEqual(7.5 * hour);
    expect(t.clock.now() - decidedAt).toBeGreaterThan(60 * hour);
    expect(t.clock.now() - decidedAt).toBeLessThanOrEqual(73 * hour);
    await reaches(channel.id, 'decided', { status: 'dead' });
    expect((await deliveries(channel.id, { status: 'dead' })).map(({ event }) => event)).toEqual(['decided']);
  }, 30_000);
});

describe('a replay', () => {
  it('sends a delivery once more, with its id, whatever became of it', async () => {
    const channel = await webhook();
    receiver.answer = status(404);
    await ask();
    await reaches(channel.id, 'requested', { status: 'dead' });
    receiver.answer = () => undefined;
    const [dead] = await deliveries(channel.id);
    const { status: code, body } = await replay(channel.id, dead?.id ?? '');
    expect([code, body.status]).toEqual([202, 'waiting']);
    await reaches(channel.id, 'requested', { status: 'delivered' });
    await replay(channel.id, dead?.id ?? '');
    await receiver.atLeast(3);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await expect.poll(async () => (await deliveries(channel.id))[0]?.log.length).toBe(3);
  });

  it('can be repeated when its job was not stored, and then sends the delivery', async () => {
    const channel = await webhook();
    await ask();
    await reaches(channel.id, 'requested', { status: 'delivered' });
    const [{ id } = { id: '' }] = await deliveries(channel.id);
    const add = vi.spyOn(t.jobs, 'add').mockRejectedValue(new HubError('unavailable', 'Redis is away.'));
    for (let i = 0; i < 2; i++)
      await expect(replay(channel.id, id)).rejects.toMatchObject({ code: 'unavailable' });
    add.mockRestore();
    await reaches(channel.id, 'requested', { status: 'waiting', attempts: 0 });
    expect((await replay(channel.id, id)).body.status).toBe('waiting');
    await reaches(channel.id, 'requested', { status: 'delivered' });
    expect(receiver.received).toHaveLength(2);
  });

  it('is refused while it is on its way, for a disabled channel, and for what is not there', async () => {
    const refusal = async (work: Promise<unknown>) => {
      const error = await work.then(
        () => null,
        (caught: unknown) => caught,
      );
      return error instanceof HubError ? error.code : 'taken';
    };
    const channel = await webhook();
    receiver.answer = status(500);
    await ask();
    await reaches(channel.id, 'requested', { status: 'waiting', attempts: 1 });
    const [{ id } = { id: '' }] = await deliveries(channel.id);
    expect(await refusal(replay(channel.id, id))).toBe('conflict');
    const other = await webhook();
    expect(await refusal(replay(other.id, id))).toBe('not_found');
    const ids = { params: { channel_id: channel.id, delivery_id: id } };
    expect(await refusal(t.call('replayDelivery', ids, { ...user, roles: memberRoles }))).toBe('forbidden');
    expect(await refusal(t.call('replayDelivery', ids, await t.tenant()))).toBe('not_found');
    await t.call('updateChannel', { params: { channel_id: channel.id }, body: { enabled: false } }, user);
    await t.clock.advanceAsync(10 * second, second);
    await reaches(channel.id, 'requested', { status: 'dead' });
    expect(await refusal(replay(channel.id, id))).toBe('conflict');
  });
});

describe('receivers', () => {
  it('that are slow do not hold up others', async () => {
    const slow = await webhook({ config: { url: `${receiver.url}/slow` } });
    await webhook({ config: { url: `${receiver.url}/fast` } });
    receiver.answer = ({ path }) => (path === '/slow' ? false : undefined);
    for (let i = 0; i < 60; i++) await ask({}, user, `agent-${i}`);
    await expect
      .poll(() => receiver.received.filter(({ path }) => path === '/fast').length, { timeout: 10_000 })
      .toBe(60);
    // As many as one channel may have at a time.
    expect(receiver.received.filter(({ path }) => path === '/slow')).toHaveLength(4);
    expect(await deliveries(slow.id, { status: 'waiting' })).toHaveLength(60);
  }, 20_000);

  it('that take a request while it is decided have it as delivered, and get the decision', async () => {
    const channel = await webhook();
    let finish = (): void => undefined;
    receiver.answer = ({ body }, response) => {
      if (body.event !== 'approval_requested') return undefined;
      finish = () => response.writeHead(200).end('{}');
      return false;
    };
    const approval = await ask();
    await receiver.atLeast(1);
    await decide(approval.id);
    await reaches(channel.id, 'requested', { status: 'expired', attempts: 0 });
    finish();
    await receiver.atLeast(2);
    await reaches(channel.id, 'decided', { status: 'delivered' });
    await reaches(channel.id, 'requested', { status: 'delivered', attempts: 1, log: [{ status: 200 }] });
    expect(receiver.received).toHaveLength(2);
  });

  it('of a removed channel hear of nothing any more', async () => {
    const channel = await webhook();
    receiver.answer = status(500);
    await ask();
    await reaches(channel.id, 'requested', { status: 'waiting', attempts: 1 });
    await t.call('deleteChannel', { params: { channel_id: channel.id } }, user);
    await t.clock.advanceAsync(60 * second, second);
    expect(receiver.received).toHaveLength(1);
  });
});
