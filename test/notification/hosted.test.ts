// Notification channels of the hosted API: its words for the console's channels, unsigned webhooks, and its own
// callback.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';
import { botToken, botUpdate, type Platforms, startPlatforms } from '../platforms/chats.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

let t: TestHub;
let user: UserCaller;
let admin: OperatorCaller;
let receiver: Receiver;
let platforms: Platforms;
beforeEach(async () => {
  receiver = await startReceiver();
  platforms = await startPlatforms();
  t = await makeHub({ chatBotUrl: platforms.url, baseUrl: 'https://hub.example' });
  user = await t.tenant('ann@example.com');
  admin = t.operator(user);
});
afterEach(async () => {
  await t.close();
  await receiver.close();
  await platforms.close();
});

const create = async (channel_type: string, config: object, more: object = {}, as = admin) =>
  (await t.call('hostedCreateChannel', { body: { name: 'ops', channel_type, config, ...more } }, as)).body;
const update = async (channel_id: string, body: object, as = admin) =>
  (await t.call('hostedUpdateChannel', { params: { channel_id }, body: { name: 'ops', ...body } }, as)).body;
const list = async (as = admin) => (await t.call('hostedListChannels', {}, as)).body.channels;
const stored = async (id: string) => {
  const channel = await t.hub.store.channels.get(user.tenantId, id);
  if (!channel) throw new Error('no such channel');
  return { channel, config: t.hub.app.channels.open(channel).config };
};

describe('a channel', () => {
  it('that lacks a field is refused with the name that the field has here', async () => {
    const refusal = (field: string) => ({ message: expect.stringContaining(`needs config.${field}.`) });
    await expect(create('workspace_chat', {})).rejects.toMatchObject(refusal('url'));
    await expect(create('community_chat', { bot_token: botToken })).rejects.toMatchObject(
      refusal('channel_id'),
    );
  });

  it('of each type is kept, and shown with its secrets masked', async () => {
    const bot = await create('chat_bot', { bot_token: botToken, chat_id: -100200 });
    expect(bot).toMatchObject({
      interactive: true,
      config: { bot_token: `****${botToken.slice(-4)}`, chat_id: '-100200' },
    });
    expect(JSON.stringify(bot)).not.toContain('secret');
    const workspace = await create('workspace_chat', { url: `${receiver.url}/services/T0/XYZXYZ` });
    expect(workspace).toMatchObject({ interactive: false, config: { url: '****ZXYZ' } });
    const community = await create('community_chat', {
      bot_token: 'community-token-1',
      channel_id: '998877',
    });
    expect(community).toMatchObject({
      interactive: false,
      config: { bot_token: '****en-1', channel_id: '998877' },
    });
    const webhook = await create('webhook', { url: `${receiver.url}/hook`, secret: 'not kept' });
    expect(webhook.config).toEqual({ url: `${receiver.url}/hook` });
    expect(await stored(webhook.id)).toMatchObject({
      channel: { payloadStyle: 'hosted' },
      config: { secret: null },
    });
    expect(await list()).toHaveLength(4);
    // One store: the console has them too.
    expect((await t.call('listChannels', {}, user)).body).toHaveLength(4);
  });

  it.each([
    ['chat_bot', { bot_token: botToken, chat_id: '7' }],
    ['community_chat', { bot_token: 'community-token-1', channel_id: '998877' }],
  ])('of the type %s keeps its list of deciders until it is cleared', async (channel_type, config) => {
    const { id } = await create(channel_type, { ...config, allowed_user_ids: ['1', '2'] });
    const listAfter = async (allowed: object) => {
      await update(id, { channel_type, config: { ...config, ...allowed } });
      return (await stored(id)).config;
    };
    expect(await listAfter({})).toMatchObject({ allowedUserIds: ['1', '2'] });
    expect(await listAfter({ allowed_user_ids: ['3'] })).toMatchObject({ allowedUserIds: ['3'] });
    expect(await listAfter({ allowed_user_ids: null })).toMatchObject({ allowedUserIds: null });
  });

  it('of a type that this API does not know is not shown', async () => {
    const email = { smtp_host: 'mail.example', smtp_port: 465, smtp_user: '', smtp_password: '' };
    const config = { ...email, from_address: 'a@b.c', to_addresses: ['d@e.f'] };
    const channel = await t
      .call('createChannel', { body: { name: 'm', channel_type: 'email', config } }, user)
      .catch(() => null);
    if (channel) expect(await list()).toEqual([]);
    await expect(create('email', config)).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('is replaced as a whole, but for its type and for absent or masked secrets', async () => {
    const channel = await create(
      'chat_bot',
      { bot_token: botToken, chat_id: '1' },
      { filters: { environments: ['production'] } },
    );
    const before = await stored(channel.id);
    const masked = await update(channel.id, {
      channel_type: 'chat_bot',
      config: { bot_token: channel.config.bot_token, chat_id: '2' },
    });
    expect(masked).toMatchObject({ config: { chat_id: '2' }, filters: { environments: null } });
    expect((await stored(channel.id)).config).toEqual({ ...before.config, chatId: '2' });
    await update(channel.id, {
      channel_type: 'chat_bot',
      config: { bot_token: 'another-token', chat_id: '2' },
      enabled: false,
    });
    expect((await stored(channel.id)).config).toMatchObject({ botToken: 'another-token' });
    // The mask of the token before it, as somebody read it a while ago.
    await update(channel.id, {
      channel_type: 'chat_bot',
      config: { bot_token: channel.config.bot_token, chat_id: '3' },
    });
    expect((await stored(channel.id)).config).toMatchObject({ botToken: 'another-token', chatId: '3' });
    await expect(
      update(channel.id, { channel_type: 'webhook', config: { url: `${receiver.url}/x` } }),
    ).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('of the console keeps the contracts that it is about when it is replaced here', async () => {
    const config = { bot_token: botToken, chat_id: '1' };
    const filters = { environments: ['staging'], contract_names: ['low-risk-*'] };
    const body = { name: 'ops', channel_type: 'chat_bot', config, filters };
    const { id } = (await t.call('createChannel', { body }, user)).body;
    const kept = {
      environments: null,
      agentPatterns: null,
      contractNames: ['low-risk-*'],
      rulesetNames: null,
    };
    await update(id, { channel_type: 'chat_bot', config });
    expect((await stored(id)).channel.filters).toEqual(kept);
    await update(id, { channel_type: 'chat_bot', config, filters: { agent_patterns: ['mail-*'] } });
    expect((await stored(id)).channel.filters).toEqual({ ...kept, agentPatterns: ['mail-*'] });
    // The console shows them, and clears them.
    await t.call('updateChannel', { params: { channel_id: id }, body: { filters: null } }, user);
    expect((await stored(id)).channel.filters).toBeNull();
    await update(id, { channel_type: 'chat_bot', config });
    expect((await stored(id)).channel.filters).toBeNull();
  });

  it('of the console keeps the secret that its webhooks are signed with when it is replaced here', async () => {
    const config = { url: `${receiver.url}/hook`, secret: 'a secret of the console' };
    const body = { name: 'signed', channel_type: 'webhook', config };
    const { id } = (await t.call('createChannel', { body }, user)).body;
    await update(id, {
      channel_type: 'webhook',
      config: { url: `${receiver.url}/other`, secret: 'of nobody' },
    });
    expect(await stored(id)).toMatchObject({
      channel: { payloadStyle: 'console' },
      config: { url: `${receiver.url}/other`, secret: 'a secret of the console' },
    });
  });

  it('whose platform cannot be told where presses go is kept, and says so', async () => {
    const config = { bot_token: botToken, chat_id: '-1' };
    const told = await create('chat_bot', config);
    expect(told.warnings).toEqual([]);
    expect((await update(told.id, { channel_type: 'chat_bot', config })).warnings).toEqual([]);
    expect((await create('webhook', { url: `${receiver.url}/hook` })).warnings).toEqual([]);
    // Told once for each save, and by no job later.
    const { calls } = platforms;
    expect(calls.map(({ method }) => method)).toEqual(['setWebhook', 'setWebhook']);
    platforms.fail({ status: 401, body: { ok: false } });
    const kept = await create('chat_bot', config);
    expect(kept).toMatchObject({ enabled: true, interactive: true });
    expect(kept.warnings).toEqual([
      expect.stringMatching(/platform answered with 401\. Check the bot token\.$/),
    ]);
    platforms.fail({ status: 502, body: {} });
    const tried = await create('chat_bot', config);
    expect(tried.warnings).toEqual([expect.stringMatching(/answered with 502\. The hub retries\.$/)]);
    expect(calls).toHaveLength(2);
    t.clock.advance(20_000);
    await expect.poll(() => calls.length, { timeout: 5000 }).toBe(3);
    const url = expect.stringMatching(new RegExp(`/v1/chat_bot/webhook/${tried.id}$`));
    expect(calls[2]?.body).toMatchObject({ url });
  });

  it('tells how the newest attempt went while later deliveries wait for theirs', async () => {
    const { id: channelId } = await create('webhook', { url: `${receiver.url}/hook` });
    const tried = { at: 2000, status: 503, failure: 'status' as const, durationMs: 1 };
    const delivery = (id: string, createdAt: number, log: readonly (typeof tried)[]) => ({
      id,
      tenantId: user.tenantId,
      channelId,
      approvalId: id,
      event: 'requested' as const,
      status: 'waiting' as const,
      attempts: log.length,
      run: 1,
      nextAt: 1e15,
      giveUpAt: 2e15,
      createdAt,
      updatedAt: createdAt,
      messageId: null,
      log,
    });
    await t.hub.store.deliveries.create(delivery('a', 1000, [tried]));
    await t.hub.store.deliveries.create(delivery('b', 1500, [{ ...tried, at: 1600 }]));
    await t.hub.store.deliveries.create(delivery('c', 3000, []));
    expect((await list())[0]?.last_delivery).toEqual({
      at: '1970-01-01T00:00:02.000000Z',
      ok: false,
      status_code: 503,
    });
  });

  it('is tried, and removed', async () => {
    const { id } = await create('webhook', { url: `${receiver.url}/hook` });
    const tried = await t.call('hostedTestChannel', { params: { channel_id: id } }, admin);
    expect(tried.body).toMatchObject({ success: true, status_code: 200, error: null });
    expect(receiver.received).toHaveLength(1);
    const { timestamp } = receiver.received[0]?.body ?? {};
    expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect((await t.call('hostedDeleteChannel', { params: { channel_id: id } }, admin)).status).toBe(204);
    await expect(t.call('hostedDeleteChannel', { params: { channel_id: id } }, admin)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('of another workspace is neither shown nor changed', async () => {
    const { id } = await create('webhook', { url: `${receiver.url}/hook` });
    const other = t.operator(await t.tenant());
    expect(await list(other)).toEqual([]);
    const body = { channel_type: 'webhook', config: { url: `${receiver.url}/x` } };
    await expect(update(id, body, other)).rejects.toMatchObject({ code: 'not_found' });
    await expect(t.call('hostedTestChannel', { params: { channel_id: id } }, other)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it.each([
    ['chat_bot', { chat_id: '1' }, 'unprocessable'],
    ['workspace_chat', {}, 'unprocessable'],
    ['community_chat', { bot_token: 'x' }, 'unprocessable'],
    ['webhook', { url: 'not a url' }, 'unprocessable'],
    ['webhook', [], 'validation_failed'],
    ['pigeon', {}, 'validation_failed'],
  ])('of type %s with %o is refused', async (type, config, code) => {
    await expect(create(type, config)).rejects.toMatchObject({ code });
    expect(await list()).toEqual([]);
  });
});

describe('the callback', () => {
  const press = async (id: string, secret: string | null, body: unknown) =>
    t.call(
      'hostedChatBotCallback',
      { params: { channel_id: id }, body: Buffer.from(JSON.stringify(body)) },
      { kind: 'none' },
      {
        headers: secret === null ? {} : { 'x-chat-bot-secret-token': secret },
      },
    );

  it('decides what its button says, by its secret alone, and does not tell a wrong one from an unknown channel', async () => {
    const { id } = await create('chat_bot', { bot_token: botToken, chat_id: '-100200' });
    const { config } = await stored(id);
    const secret = config.kind === 'chatBot' ? config.webhookSecret : '';
    const { body: approval } = await t.call(
      'hostedCreateApproval',
      { body: { tool_name: 'rm', message: 'May I?' } },
      t.hostedKey(user),
    );
    const pressed = botUpdate(`approve:${approval.id}`);
    for (const [channel, presented] of [
      [id, null],
      [id, 'wrong'],
      ['nobody', secret],
      [t.hub.secrets.uuid(), secret],
    ] as const) {
      expect((await press(channel, presented, pressed)).status).toBe(403);
    }
    expect(await press(id, secret, { anything: 'else' })).toMatchObject({ status: 200, body: {} });
    expect(await press(id, secret, pressed)).toMatchObject({ status: 200, body: {} });
    const decided = (await t.call('hostedGetApproval', { params: { approval_id: approval.id } }, admin)).body;
    expect(decided).toMatchObject({ status: 'approved', decided_via: 'chat_bot' });
    expect(decided.decided_by).toMatch(/^chat_bot:/);
    const { entries } = (await t.call('hostedListAudit', {}, admin)).body;
    expect(entries[0]).toMatchObject({ action_type: 'approval.approved', actor: { type: 'chat' } });
  });
});
