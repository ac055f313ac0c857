// Notification channels: made, changed, masked, tried, removed; each tenant its own.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { memberRoles } from '../../src/shared/env-roles.ts';
import { HubError } from '../../src/shared/error.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { type Receiver, startReceiver, status } from '../receiver.ts';

let t: TestHub;
let user: UserCaller;
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  t = await makeHub({ chatBotUrl: receiver.url });
  user = await t.tenant('ann@example.com');
});
afterEach(async () => {
  await t.close();
  await receiver.close();
});

const configs = () => ({
  chat_bot: { bot_token: '12345:abcdefghijkl', chat_id: -100200300 },
  workspace_chat: { webhook_url: `${receiver.url}/services/T0/B0/XYZXYZXYZ` },
  workspace_chat_app: {
    bot_token: 'xoxo-token-of-the-app',
    signing_secret: 'a-signing-secret-here',
    channel: 'C0123',
  },
  community_chat: { bot_token: 'community.bot.token', public_key: 'ab'.repeat(32), channel: '998877' },
  webhook: { url: `${receiver.url}/hook`, secret: 'a webhook secret' },
  email: {
    smtp_host: '127.0.0.1',
    smtp_port: 2525,
    smtp_user: 'mailer',
    smtp_password: 'a mail password',
    from_address: 'Reeve <reeve@example.com>',
    to_addresses: 'ann@example.com, bob@example.com',
  },
});
type Type = keyof ReturnType<typeof configs>;
const types = [
  'chat_bot',
  'workspace_chat',
  'workspace_chat_app',
  'community_chat',
  'webhook',
  'email',
] as const satisfies readonly Type[];
/** Secrets that must never be seen again. */
const secretsOf: { readonly [T in Type]: readonly string[] } = {
  chat_bot: ['bot_token'],
  workspace_chat: ['webhook_url'],
  workspace_chat_app: ['bot_token', 'signing_secret'],
  community_chat: ['bot_token'],
  webhook: ['secret'],
  email: ['smtp_password'],
};

const create = async (channel_type: Type, more: object = {}, as = user) =>
  (
    await t.call(
      'createChannel',
      { body: { name: 'ops', channel_type, config: configs()[channel_type], ...more } },
      as,
    )
  ).body;
const update = async (channel_id: string, body: object, as = user) =>
  (await t.call('updateChannel', { params: { channel_id }, body }, as)).body;
const list = async (as = user) => (await t.call('listChannels', {}, as)).body;
const openConfig = async (id: string) => {
  const channel = await t.hub.store.channels.get(user.tenantId, id);
  if (!channel) throw new Error('no such channel');
  return t.hub.app.channels.open(channel).config;
};
const refusal = async (work: Promise<unknown>) => {
  try {
    await work;
  } catch (error) {
    if (error instanceof HubError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('it was taken');
};

describe.each(types)('a channel of type %s', (type) => {
  const secrets = (): string[] =>
    secretsOf[type].map((field) => String((configs()[type] as { [field: string]: unknown })[field]));

  it('is shown with its secrets masked, in every answer, and is sealed in the store', async () => {
    const channel = await create(type);
    const changed = await update(channel.id, { name: 'other' });
    const listed = await list();
    for (const secret of secrets()) {
      expect(JSON.stringify([channel, changed, listed])).not.toContain(secret);
      expect(JSON.stringify(await t.hub.store.channels.get(user.tenantId, channel.id))).not.toContain(secret);
    }
    for (const field of secretsOf[type]) expect(channel.config[field]).toContain('••••');
    expect(channel).toMatchObject({ name: 'ops', channel_type: type, enabled: true, filters: null });
    expect(channel).toMatchObject({ last_test_at: null, last_test_ok: null });
    expect(listed).toEqual([changed]);
  });

  it('keeps its secrets when what was shown is written back, or they are left out', async () => {
    const channel = await create(type);
    const before = await openConfig(channel.id);
    await update(channel.id, { config: channel.config });
    expect(await openConfig(channel.id)).toEqual(before);
    const open = Object.fromEntries(
      Object.entries(channel.config).filter(
        ([field]) => !secretsOf[type].includes(field) && field !== 'webhook_secret',
      ),
    );
    await update(channel.id, { config: open });
    expect(await openConfig(channel.id)).toEqual(before);
  });

  it('keeps its secrets when the mask that comes back is of one that was replaced since', async () => {
    const channel = await create(type);
    const [field = ''] = secretsOf[type];
    const secret = type === 'workspace_chat' ? `${receiver.url}/services/second` : 'the-second-secret';
    await update(channel.id, { config: { ...channel.config, [field]: secret } });
    const before = await openConfig(channel.id);
    await update(channel.id, { name: 'from an older page', config: channel.config });
    expect(await openConfig(channel.id)).toEqual(before);
    // Nor is it the first secret of another channel.
    expect(await refusal(create(type, { config: channel.config }))).toMatchObject({
      code: 'unprocessable',
      message: `config.${field}: is masked. Send the whole secret.`,
    });
  });

  it('takes a new secret', async () => {
    const channel = await create(type);
    const [field = ''] = secretsOf[type];
    const secret = type === 'workspace_chat' ? `${receiver.url}/services/new` : 'another-secret';
    await update(channel.id, { config: { ...channel.config, [field]: secret } });
    expect(JSON.stringify(await openConfig(channel.id))).toContain(secret);
  });

  it('names each field that is missing', async () => {
    for (const field of Object.keys(configs()[type])) {
      if (type === 'webhook' && field === 'secret') continue;
      const config = Object.fromEntries(Object.entries(configs()[type]).filter(([name]) => name !== field));
      expect(await refusal(create(type, { config }))).toEqual({
        code: 'unprocessable',
        message: `A channel with the type ${type} needs config.${field}. Send it.`,
      });
    }
  });

  it('refuses odd values of every field in a sentence', async () => {
    for (const field of Object.keys(configs()[type])) {
      for (const value of [{}, [], [[]], true, -1.5, 'a\u0000b', 'x'.repeat(30_000)]) {
        const config = { ...configs()[type], [field]: value };
        const { code, message } = await refusal(create(type, { config }));
        expect({ field, code }).toEqual({ field, code: 'unprocessable' });
        expect(message).toContain(`config.${field}`);
      }
    }
  });
});

describe('addresses', () => {
  it('are judged when a channel is saved', async () => {
    const urls = [
      'http://10.0.0.1/',
      'https://169.254.169.254/',
      'https://user@example.com/',
      'ftp://x',
      'x',
    ];
    for (const url of urls) {
      expect((await refusal(create('webhook', { config: { url } }))).code).toBe('unprocessable');
      expect((await refusal(create('workspace_chat', { config: { webhook_url: url } }))).code).toBe(
        'unprocessable',
      );
    }
    const email = { ...configs().email, smtp_host: '169.254.169.254' };
    expect((await refusal(create('email', { config: email }))).code).toBe('unprocessable');
    const channel = await create('webhook');
    expect((await refusal(update(channel.id, { config: { url: 'https://[::ffff:127.0.0.1]/' } }))).code).toBe(
      'unprocessable',
    );
    expect(await list()).toHaveLength(1);
  });

  it('of another mail server ask for the password again', async () => {
    const channel = await create('email');
    const moved = { ...channel.config, smtp_host: '127.0.0.2' };
    expect((await refusal(update(channel.id, { config: moved }))).message).toContain('smtp_password again');
    await update(channel.id, { config: { ...moved, smtp_password: 'given again' } });
    expect(await openConfig(channel.id)).toMatchObject({
      smtpHost: '127.0.0.2',
      smtpPassword: 'given again',
    });
  });
});

describe('changes', () => {
  it('keep what is absent, clear filters by null, and cannot change the type', async () => {
    const filters = { environments: ['production'], agent_patterns: ['web-*'] };
    const channel = await create('webhook', { filters });
    expect(channel.filters).toEqual({ ...filters, contract_names: null });
    t.clock.advance(1000);
    const renamed = await update(channel.id, { name: 'b', channel_type: 'email' });
    expect(renamed).toMatchObject({ name: 'b', channel_type: 'webhook', filters: channel.filters });
    expect(Date.parse(renamed.updated_at)).toBe(Date.parse(channel.updated_at) + 1000);
    expect(await update(channel.id, { enabled: false })).toMatchObject({ enabled: false, name: 'b' });
    expect((await update(channel.id, { filters: null })).filters).toBeNull();
  });

  it('clear the secret of a webhook by null', async () => {
    const channel = await create('webhook');
    await update(channel.id, { config: { url: `${receiver.url}/hook`, secret: null } });
    expect(await openConfig(channel.id)).toEqual({
      kind: 'webhook',
      url: `${receiver.url}/hook`,
      secret: null,
    });
  });

  it('keep the list of deciders until it is cleared: a change of another field opens no chat', async () => {
    const config = { bot_token: 'a-token', public_key: 'a'.repeat(64), channel: '5' };
    const channel = await create('community_chat', { config: { ...config, allowed_user_ids: ['1', '2'] } });
    await update(channel.id, { config: { ...config, channel: '6' } });
    expect(await openConfig(channel.id)).toMatchObject({ channel: '6', allowedUserIds: ['1', '2'] });
    await update(channel.id, { config: { ...config, allowed_user_ids: null } });
    expect(await openConfig(channel.id)).toMatchObject({ channel: '5', allowedUserIds: null });
  });

  it('has a name of at most 100 characters, as on the hosted API', async () => {
    const { id } = await create('webhook', { name: 'n'.repeat(100) });
    await expect(create('webhook', { name: 'n'.repeat(101) })).rejects.toMatchObject({
      code: 'validation_failed',
    });
    const renamed = update(id, { name: 'n'.repeat(101) });
    await expect(renamed).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('of many at once all count', async () => {
    const channel = await create('webhook');
    await Promise.all([
      update(channel.id, { name: 'one' }),
      update(channel.id, { enabled: false }),
      update(channel.id, { filters: { environments: ['staging'] } }),
    ]);
    expect((await list())[0]).toMatchObject({
      name: 'one',
      enabled: false,
      filters: { environments: ['staging'] },
    });
  });

  it('are for admins, each in their own tenant', async () => {
    const channel = await create('webhook');
    const member = { ...user, roles: memberRoles };
    expect((await refusal(create('webhook', {}, member))).code).toBe('forbidden');
    expect((await refusal(update(channel.id, { name: 'x' }, member))).code).toBe('forbidden');
    const other = await t.tenant();
    const ids = { params: { channel_id: channel.id } };
    expect((await refusal(update(channel.id, { name: 'x' }, other))).code).toBe('not_found');
    for (const operation of ['deleteChannel', 'testChannel'] as const) {
      expect((await refusal(t.call(operation, ids, member))).code).toBe('forbidden');
      expect((await refusal(t.call(operation, ids, other))).code).toBe('not_found');
    }
    expect(await list(other)).toEqual([]);
    expect((await refusal(t.call('listDeliveries', ids, other))).code).toBe('not_found');
  });

  it('end with its removal', async () => {
    const channel = await create('webhook');
    const ids = { params: { channel_id: channel.id } };
    expect((await t.call('deleteChannel', ids, user)).status).toBe(204);
    expect((await refusal(t.call('deleteChannel', ids, user))).code).toBe('not_found');
    expect(await list()).toEqual([]);
  });

  it('stop at 100 channels', async () => {
    for (let i = 0; i < 100; i++) await create('webhook');
    expect((await refusal(create('webhook'))).code).toBe('quota_exceeded');
  });
});

it('leaves a record of each change, without anything of its configuration', async () => {
  const channel = await create('webhook');
  await update(channel.id, { name: 'b' });
  await t.call('deleteChannel', { params: { channel_id: channel.id } }, user);
  await expect(update(channel.id, { name: 'c' })).rejects.toThrow();
  const filter = { from: null, to: null, actor: null, actions: null, subjects: ['channel'] as const };
  const entries = await t.hub.store.audit.list(user.tenantId, filter, null, 10);
  expect(entries.map(({ entry }) => entry.action_type)).toEqual([
    'channel.deleted',
    'channel.updated',
    'channel.created',
  ]);
  for (const { entry } of entries) {
    expect(entry).toMatchObject({ subject: { id: channel.id }, actor: { display: 'ann@example.com' } });
    expect(JSON.stringify(entry)).not.toContain('/hook');
  }
});

describe('a test message', () => {
  const test = async (channel_id: string) =>
    (await t.call('testChannel', { params: { channel_id } }, user)).body;

  it('is signed, and its success is noted', async () => {
    const channel = await create('webhook');
    expect(await test(channel.id)).toEqual({ success: true, message: 'The test message was sent.' });
    const [sent] = receiver.received;
    expect(sent).toMatchObject({ method: 'POST', path: '/hook', body: { event: 'test' } });
    expect(sent?.headers['x-service-signature']).toBe(
      `sha256=${t.hub.secrets.hmac('a webhook secret', sent?.text ?? '')}`,
    );
    expect((await list())[0]).toMatchObject({ last_test_ok: true });
  });

  it('that fails is an answer, which holds nothing that the receiver wrote', async () => {
    const channel = await create('webhook');
    receiver.answer = status(404, {}, 'the secret of the inner network');
    const failed = await test(channel.id);
    expect(failed).toMatchObject({ success: false });
    expect(failed.message).toContain('404');
    expect(JSON.stringify(failed)).not.toContain('inner');
    expect((await list())[0]).toMatchObject({ last_test_ok: false });
    await receiver.close();
    expect(await test(channel.id)).toEqual({ success: false, message: 'The connection failed.' });
    receiver = await startReceiver();
  });

  it('that a mail server refuses for some addresses names these, and is no success', async () => {
    const channel = await create('email');
    const refused = ['bob@example.com'];
    const outcome = { kind: 'delivered', status: 250, messageId: null, refused } as const;
    vi.spyOn(t.hub.messengers, 'send').mockResolvedValue(outcome);
    expect(await test(channel.id)).toEqual({
      success: false,
      message: 'The mail server refused bob@example.com. The other addresses got the test message.',
    });
    expect((await list())[0]).toMatchObject({ last_test_ok: false });
  });

  it('is limited', async () => {
    const channel = await create('webhook');
    for (let i = 0; i < 20; i++) await test(channel.id);
    expect((await refusal(test(channel.id))).code).toBe('rate_limited');
  });
});
