// Chats: what is written on each platform, edited when an approval ends, and decided by buttons whose callbacks are
// proven.
import { createHash } from 'node:crypto';
import { fingerprintOf, readToolList } from 'reeve-agent/rules';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Operation, TestHub, UserCaller } from '../harness.ts';
import { makeHub } from '../harness.ts';
import {
  appToken,
  botToken,
  botUpdate,
  communityApplication,
  communityToken,
  type Platforms,
  startPlatforms,
  workspaceHeaders,
  workspaceInteraction,
} from '../platforms/chats.ts';

let t: TestHub;
let user: UserCaller;
let platforms: Platforms;
let asked = 0;
let pressed = 0;
const application = communityApplication();
beforeEach(async () => {
  platforms = await startPlatforms();
  t = await makeHub({ chatBotUrl: platforms.url, baseUrl: 'https://hub.example' });
  user = await t.tenant('ann@example.com');
});
afterEach(async () => {
  await t.close();
  await platforms.close();
});

const configs = {
  chat_bot: { bot_token: botToken, chat_id: '-100200' },
  workspace_chat_app: { bot_token: appToken, signing_secret: 'signing secret', channel: 'C0' },
  community_chat: { bot_token: communityToken, public_key: application.publicKey, channel: '998877' },
} as const;
type Type = keyof typeof configs;
const types = Object.keys(configs) as Type[];

const create = async (channel_type: string, config: object, as = user, more: object = {}) =>
  (await t.call('createChannel', { body: { name: 'ops', channel_type, config, ...more } }, as)).body;
const chat = (type: Type, more: object = {}, as = user) => create(type, { ...configs[type], ...more }, as);
const ask = async (more: object = {}, as = user) =>
  (
    await t.call(
      'createApproval',
      // Each of another session: the same request a moment later would be the same approval.
      { body: { tool_name: 'rm', message: 'may I?', timeout: 300, session_id: `s${++asked}`, ...more } },
      t.key(as),
    )
  ).body;
/** Asks, and waits until the request is on its way to a channel. */
const askInChat = async (more: object = {}, as = user) => {
  const approval = await ask(more, as);
  await expect
    .poll(async () => (await t.hub.store.deliveries.listOfApproval(approval.id, 10)).length)
    .not.toBe(0);
  return approval;
};
const approvalOf = async (approval_id: string, as = user) =>
  (await t.call('getApproval', { params: { approval_id } }, as)).body;
const seen = async (count: number) => {
  await expect.poll(() => platforms.messages.length).toBe(count);
  return platforms.messages;
};
const shown = (i = 0) => JSON.stringify(platforms.messages[i]?.body);
const now = () => Math.floor(t.clock.now() / 1000);
const delivered = (channel_id: string, count: number) =>
  expect
    .poll(
      async () =>
        (await t.call('listDeliveries', { params: { channel_id } }, user)).body.filter(
          (one) => one.status === 'delivered',
        ).length,
    )
    .toBe(count);

const post = async (operation: Operation, text: string, headers: { [name: string]: string }, params = {}) => {
  const input = { params, body: Buffer.from(text) };
  const answer = await t.call(operation, input, { kind: 'none' }, { headers });
  // biome-ignore lint/suspicious/noExplicitAny: every platform is answered in its own form
  return { status: answer.status, body: answer.body as any };
};
const secretOf = async (id: string) => {
  const channel = await t.hub.store.channels.getById(id);
  const config = channel && t.hub.app.channels.open(channel).config;
  return config?.kind === 'chatBot' ? config.webhookSecret : '';
};
/** Presses a button on each platform, as that platform tells of it. */
const press = async (type: Type, channelId: string, action: string, userId = '777') => {
  if (type === 'chat_bot') {
    const update = botUpdate(action, { from: { id: Number(userId), username: 'ann' }, id: ++pressed });
    const headers = { 'x-chat-bot-secret-token': await secretOf(channelId) };
    return post('chatBotCallback', JSON.stringify(update), headers, { channel_id: channelId });
  }
  if (type === 'workspace_chat_app') {
    const person = { id: userId, username: 'ann' };
    const { text, headers } = workspaceInteraction(`reeve_${action}`, 'signing secret', now(), person);
    return post('workspaceChatInteraction', text, headers);
  }
  const member = { user: { id: userId, username: 'ann' } };
  const { text, headers } = application.press(`reeve_${action}`, now(), { member });
  return post('communityChatInteraction', text, headers);
};
const viaOf = {
  chat_bot: 'chat_bot',
  workspace_chat_app: 'workspace_chat',
  community_chat: 'community_chat',
};

describe.each(types)('%s', (type) => {
  it('shows a request with buttons of this approval, and takes them off when it is decided elsewhere', async () => {
    await chat(type);
    const approval = await ask({ tool_args: { path: '/tmp' }, contract_name: 'files' });
    await seen(1);
    for (const text of ['Approval requested', 'agent-1', 'rm', 'production', 'files', 'may I?', '/tmp']) {
      expect(shown()).toContain(text);
    }
    expect(shown()).toContain(`approve:${approval.id}`);
    expect(shown()).toContain(`deny:${approval.id}`);
    await t.call(
      'decideApproval',
      { params: { approval_id: approval.id }, body: { approved: true, reason: 'fine' } },
      user,
    );
    await expect.poll(() => platforms.messages[0]?.edits).toBe(1);
    expect(shown()).toContain('Approved');
    expect(shown()).toContain('example.com');
    expect(shown()).toContain('fine');
    expect(shown()).not.toContain(`approve:${approval.id}`);
    expect(platforms.messages).toHaveLength(1);
  });

  it.each([
    ['moves to another chat', (messageId: string) => messageId],
    ['has a record with the id of the message alone', (messageId: string) => messageId.split(':')[1]],
  ])('edits its message in its own chat when it %s', async (how, stored) => {
    const channel = await chat(type);
    const approval = await ask();
    await seen(1);
    await delivered(channel.id, 1);
    const { deliveries } = t.hub.store;
    const [request] = await deliveries.listOfApproval(approval.id, 10);
    if (!request?.messageId) throw new Error('no message');
    const isWorkspace = type === 'workspace_chat_app';
    const place = { chat_bot: '-100200', workspace_chat_app: 'C0REAL', community_chat: '998877' }[type];
    expect(request.messageId.split(':')[0]).toBe(place);
    if (how.startsWith('moves')) {
      const moved = { chat_bot: { chat_id: 5 }, workspace_chat_app: {}, community_chat: { channel: '111' } };
      const config = { ...configs[type], ...moved[type] };
      await t.call('updateChannel', { params: { channel_id: channel.id }, body: { config } }, user);
    } else if (!isWorkspace) {
      await deliveries.update({ ...request, messageId: stored(request.messageId) ?? '' }, request);
    }
    const decision = { params: { approval_id: approval.id }, body: { approved: true } };
    await t.call('decideApproval', decision, user);
    await expect.poll(() => platforms.messages[0]?.edits).toBe(1);
    const { body, path } = platforms.receiver.received.at(-1) ?? {};
    if (type === 'community_chat') expect(path).toContain('/channels/998877/messages/1001');
    else expect(String(body.chat_id ?? body.channel)).toBe(place);
  });

  it('shows that a request timed out', async () => {
    const channel = await chat(type);
    await ask({ timeout: 5 });
    await seen(1);
    await delivered(channel.id, 1);
    await t.clock.advanceAsync(6000, 500);
    await expect.poll(() => platforms.messages[0]?.edits).toBe(1);
    expect(shown()).toContain('Timed out');
    expect(shown()).not.toContain('approve:');
  });

  it.each([
    ['approve', 'approved'],
    ['deny', 'denied'],
  ])('decides by its button %s, once', async (action, status) => {
    const channel = await chat(type);
    const approval = await ask();
    await seen(1);
    await delivered(channel.id, 1);
    const answer = await press(type, channel.id, `${action}:${approval.id}`);
    expect(answer.status).toBe(200);
    const decided = await approvalOf(approval.id);
    expect(decided).toMatchObject({ status, decided_by: `${viaOf[type]}:ann`, decided_via: viaOf[type] });
    const filter = { from: null, to: null, actor: null, actions: null, subjects: ['approval'] as const };
    const [record] = await t.hub.store.audit.list(user.tenantId, filter, null, 1);
    expect(record?.entry).toMatchObject({
      actor: { type: 'chat', id: `${viaOf[type]}:777`, display: `${viaOf[type]}:ann` },
      subject: { id: approval.id },
    });
    for (const again of ['approve', 'deny']) {
      expect((await press(type, channel.id, `${again}:${approval.id}`)).status).toBe(200);
    }
    expect(await approvalOf(approval.id)).toEqual(decided);
    await expect.poll(() => platforms.messages[0]?.edits).toBe(1);
  });

  it('decides nothing of another tenant, of nobody, and nothing that timed out', async () => {
    const channel = await chat(type);
    const other = await t.tenant();
    const theirs = await ask({}, other);
    // A bot's callback names its channel; the others are known by the approval alone.
    const unknown = { chat_bot: 200, workspace_chat_app: 403, community_chat: 401 }[type];
    expect((await press(type, channel.id, `approve:${theirs.id}`)).status).toBe(unknown);
    expect((await approvalOf(theirs.id, other)).status).toBe('pending');
    for (const id of ['00000000-0000-4000-8000-000000000000', 'x']) {
      expect((await press(type, channel.id, `approve:${id}`)).status).toBe(unknown);
    }
    expect((await press(type, channel.id, 'open')).status).toBe(unknown);
    const late = await askInChat({ timeout: 1 });
    t.clock.skip(2000);
    expect((await press(type, channel.id, `approve:${late.id}`)).status).toBe(200);
    expect((await approvalOf(late.id)).status).toBe('timeout');
  });

  it('lets only those decide whom its list names', async () => {
    const channel = await chat(type, { allowed_user_ids: ['1', 555] });
    const approval = await askInChat();
    expect((await press(type, channel.id, `approve:${approval.id}`, '777')).status).toBe(200);
    expect((await approvalOf(approval.id)).status).toBe('pending');
    await press(type, channel.id, `approve:${approval.id}`, '555');
    expect((await approvalOf(approval.id)).status).toBe('approved');
  });

  it('decides nothing that its filters keep away, or that was never sent to it', async () => {
    const elsewhere = await create(type, configs[type], user, { filters: { environments: ['staging'] } });
    const approval = await ask();
    const { tenantId } = user;
    await t.hub.app.notifications.fanOut({ tenantId, approvalId: approval.id, status: 'pending' });
    await press(type, elsewhere.id, `approve:${approval.id}`);
    expect((await approvalOf(approval.id)).status).toBe('pending');
    // Made after the request was sent.
    const late = await chat(type);
    await press(type, late.id, `approve:${approval.id}`);
    expect((await approvalOf(approval.id)).status).toBe('pending');
  });

  it('decides nothing any more once its filters were narrowed', async () => {
    const channel = await chat(type);
    const approval = await askInChat();
    const narrowed = { params: { channel_id: channel.id }, body: { filters: { environments: ['staging'] } } };
    await t.call('updateChannel', narrowed, user);
    expect((await press(type, channel.id, `approve:${approval.id}`)).status).toBe(200);
    expect((await approvalOf(approval.id)).status).toBe('pending');
  });

  it('shows every argument, and has no buttons where one is cut', async () => {
    await chat(type);
    const whole = await ask({ tool_args: { note: 'n'.repeat(900), command: 'rm -rf /' } });
    await seen(1);
    expect(shown()).toContain('rm -rf /');
    expect(shown()).toContain(`approve:${whole.id}`);
    const long = await ask({ tool_args: { note: 'n'.repeat(5000), command: 'rm -rf /' } });
    await seen(2);
    expect(shown(1)).toContain('rm -rf /');
    const many = await ask({ tool_args: Object.fromEntries([...Array(200)].map((_, i) => [`a${i}`, i])) });
    await seen(3);
    expect(shown(2)).toContain('160 more');
    const wordy = await ask({ message: 'm'.repeat(2000), tool_args: { command: 'rm -rf /' } });
    await seen(4);
    for (const [i, { id }] of [long, many, wordy].entries()) {
      expect(shown(i + 1)).not.toMatch(/(approve|deny):/);
      expect(shown(i + 1)).toContain(`https://hub.example/dashboard/approvals/${id}`);
    }
  });

  it('makes visible what hides or turns text around', async () => {
    await chat(type);
    const hidden = 'a\u202eb\u200bc\u2066d\u3164e\u{e0041}f';
    await ask({ tool_name: `rm ${hidden}`, message: hidden, tool_args: { [hidden]: [hidden] } });
    await seen(1);
    expect(shown()).not.toMatch(/[\u202e\u200b\u2066\u3164\u{e0041}]/u);
    expect(shown().split('a‹U+202E›b‹U+200B›c‹U+2066›d‹U+3164›e‹U+E0041›f').length).toBeGreaterThan(4);
  });

  it('waits as long as the platform asks, and tries again what may pass', async () => {
    const channel = await chat(type);
    if (type === 'chat_bot') await expect.poll(() => platforms.calls.length).toBe(1);
    const limited = {
      chat_bot: {
        status: 429,
        body: {
          ok: false,
          error_code: 429,
          description: 'Too Many Requests',
          parameters: { retry_after: 33 },
        },
      },
      workspace_chat_app: {
        status: 429,
        headers: { 'Retry-After': '33' },
        body: { ok: false, error: 'ratelimited' },
      },
      community_chat: {
        status: 429,
        body: { message: 'You are being rate limited.', retry_after: 32.5, global: false },
      },
    };
    platforms.fail(limited[type], {
      status: 500,
      body: { ok: false, error: 'internal_error', error_code: 500 },
    });
    await ask();
    const log = async () =>
      (await t.call('listDeliveries', { params: { channel_id: channel.id } }, user)).body[0];
    await expect.poll(async () => (await log())?.attempts).toBe(1);
    const next = Date.parse((await log())?.next_attempt_at ?? '') - t.clock.now();
    expect(next).toBeGreaterThanOrEqual(32_000);
    expect(next).toBeLessThan(34_000);
    await expect
      .poll(async () => {
        await t.clock.advanceAsync(5000, 1000);
        return (await log())?.status;
      })
      .toBe('delivered');
    expect((await log())?.log.map(({ error }) => error)).toEqual(['rate_limited', 'status', null]);
  });

  it('has not delivered what came back with an error of the server, whatever its body says', async () => {
    const channel = await chat(type);
    if (type === 'chat_bot') await expect.poll(() => platforms.calls.length).toBe(1);
    platforms.fail({ status: 502, body: { ok: true, id: '1', ts: '1.2', channel: 'C1' } });
    await ask();
    const first = async () =>
      (await t.call('listDeliveries', { params: { channel_id: channel.id } }, user)).body[0]?.log[0];
    await expect.poll(first).toMatchObject({ status: 502, error: 'status' });
  });

  it('gives up what the platform refuses', async () => {
    const channel = await chat(type, { bot_token: '1:revoked' });
    await ask();
    await expect
      .poll(
        async () =>
          (await t.call('listDeliveries', { params: { channel_id: channel.id } }, user)).body[0]?.status,
      )
      .toBe('dead');
  });

  it("escapes other people's texts", async () => {
    await chat(type);
    const hostile = '<b>x</b> <!channel> <@U1> @everyone [a](http://x) *bold* `c` & </pre><script>';
    await ask({ tool_name: hostile, message: hostile, tool_args: { hostile } });
    await seen(1);
    const body = platforms.messages[0]?.body;
    if (type === 'chat_bot') {
      expect(body.parse_mode).toBe('HTML');
      expect(body.text.replace(/<\/?(b|pre)>/g, '')).not.toMatch(/[<>]/);
      expect(body.text.match(/<b>/g)).toHaveLength(body.text.match(/<\/b>/g).length);
      expect(body.text).toContain('&lt;script&gt;');
    } else if (type === 'workspace_chat_app') {
      expect(body.text).not.toMatch(/[<>]/);
      expect(JSON.stringify(body.blocks)).not.toContain('mrkdwn');
      for (const block of body.blocks) if (block.text) expect(block.text.type).toBe('plain_text');
    } else {
      expect(body.allowed_mentions).toEqual({ parse: [] });
      const [{ description, fields }] = body.embeds;
      for (const text of [description.split('```')[0], fields[1].value]) {
        expect(text).not.toMatch(/(?<!\\)[<>@*`[\]]/);
      }
      expect(description.split('```')).toHaveLength(3);
    }
  });

  it('takes texts of any length', async () => {
    await chat(type);
    await ask({
      tool_name: '🦄'.repeat(127),
      message: '🦄'.repeat(4000),
      tool_args: { a: 'y'.repeat(50_000) },
    });
    await seen(1);
    expect(shown().length).toBeLessThan(12_000);
    if (type === 'chat_bot') expect(platforms.messages[0]?.body.text.length).toBeLessThan(4096);
    if (type === 'community_chat') {
      expect(platforms.messages[0]?.body.embeds[0].description.length).toBeLessThan(4096);
      for (const { value } of platforms.messages[0]?.body.embeds[0].fields ?? []) {
        expect(value.length).toBeLessThanOrEqual(1024);
      }
    }
  });
});

describe('a bot chat', () => {
  it('is told where its callbacks go, with a secret that an update keeps', async () => {
    const channel = await chat('chat_bot');
    await expect.poll(() => platforms.calls.length).toBe(1);
    const secret = await secretOf(channel.id);
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(platforms.calls[0]).toEqual({
      method: 'setWebhook',
      body: {
        url: `https://hub.example/api/v1/chat_bot/webhook/${channel.id}`,
        secret_token: secret,
        allowed_updates: ['callback_query'],
      },
    });
    await t.call(
      'updateChannel',
      { params: { channel_id: channel.id }, body: { config: { ...configs.chat_bot, chat_id: 5 } } },
      user,
    );
    expect(await secretOf(channel.id)).toBe(secret);
  });

  it('answers the press itself', async () => {
    const channel = await chat('chat_bot');
    const approval = await askInChat();
    await press('chat_bot', channel.id, `approve:${approval.id}`);
    await press('chat_bot', channel.id, `deny:${approval.id}`);
    const answers = () => platforms.calls.filter(({ method }) => method === 'answerCallbackQuery');
    await expect.poll(() => answers().length).toBe(2);
    expect(answers().map(({ body }) => body)).toEqual(
      expect.arrayContaining([
        { callback_query_id: '4382bfdwdsb323b2d9', text: 'Approved.' },
        { callback_query_id: '4382bfdwdsb323b2d9', text: 'Approved already.' },
      ]),
    );
  });

  it('is pressed once, however often its callback comes; one of another channel is another', async () => {
    const [channel, other] = [await chat('chat_bot'), await chat('chat_bot')];
    const [first, second] = [await askInChat(), await askInChat()];
    await Promise.all([channel, other].map(({ id }) => delivered(id, 2)));
    const callback = async (id: string, action: string) =>
      post(
        'chatBotCallback',
        JSON.stringify(botUpdate(action, { id: 5 })),
        { 'x-chat-bot-secret-token': await secretOf(id) },
        { channel_id: id },
      );
    const answers = () => platforms.calls.filter(({ method }) => method === 'answerCallbackQuery');
    for (let i = 0; i < 3; i++) {
      expect(await callback(channel.id, `approve:${first.id}`)).toEqual({ status: 200, body: null });
    }
    await callback(other.id, `approve:${second.id}`);
    expect((await approvalOf(second.id)).status).toBe('approved');
    await expect.poll(() => answers().length, { timeout: 5000 }).toBe(2);
    expect(answers().map(({ body }) => body)).toMatchObject([{ text: 'Approved.' }, { text: 'Approved.' }]);
    t.clock.advance(24 * 3_600_000);
    await callback(channel.id, `approve:${first.id}`);
    await expect.poll(() => answers().length, { timeout: 5000 }).toBe(3);
    expect(answers().at(-1)?.body).toMatchObject({ text: 'Approved already.' });
  });

  it('shares its token with others: a press counts in the channel of its chat, by the rules of that channel', async () => {
    const first = await chat('chat_bot', { allowed_user_ids: ['1'] });
    const last = await chat('chat_bot', { chat_id: '5' });
    const elsewhere = await chat('chat_bot', { bot_token: '1:another', chat_id: '6' });
    const approval = await askInChat();
    for (const { id } of [first, last]) await delivered(id, 1);
    const headers = { 'x-chat-bot-secret-token': await secretOf(last.id) };
    const pressIn = async (chatId: number, userId: number, to = last.id) => {
      const from = { id: userId, username: 'ann' };
      const update = botUpdate(`approve:${approval.id}`, { chat: chatId, from, id: ++pressed });
      await post('chatBotCallback', JSON.stringify(update), headers, { channel_id: to });
      return (await approvalOf(approval.id)).status;
    };
    expect(await pressIn(-100_200, 2)).toBe('pending');
    expect(await pressIn(6, 1)).toBe('pending');
    expect(await pressIn(-100_200, 1, elsewhere.id)).toBe('pending');
    expect(await pressIn(-100_200, 1)).toBe('approved');
  });

  it.each([
    ['is deleted', 'deleteChannel', {}],
    ['is disabled', 'updateChannel', { enabled: false }],
    ['gets another token', 'updateChannel', { config: { ...configs.chat_bot, bot_token: '1:another' } }],
  ] as const)('that %s leaves the presses to another one with its token', async (_how, operation, body) => {
    const first = await chat('chat_bot', { chat_id: '5' });
    const last = await chat('chat_bot');
    const addresses = () =>
      platforms.calls.flatMap(({ method, body: sent }) => (method === 'setWebhook' ? [sent.url] : []));
    const addressOf = (id: string) => `https://hub.example/api/v1/chat_bot/webhook/${id}`;
    await expect.poll(() => addresses().length).toBe(2);
    await t.call(operation, { params: { channel_id: last.id }, body }, user);
    await expect.poll(() => addresses().length).toBe(3);
    expect(addresses().at(-1)).toBe(addressOf(first.id));
  });

  it('is known by its secret alone, in any of the header names', async () => {
    const channel = await chat('chat_bot');
    const approval = await askInChat();
    const text = JSON.stringify(botUpdate(`approve:${approval.id}`));
    const call = (headers: { [name: string]: string }, id: string = channel.id) =>
      post('chatBotCallback', text, headers, { channel_id: id });
    const secret = await secretOf(channel.id);
    const header = 'x-telegram-bot-api-secret-token';
    expect((await call({})).status).toBe(403);
    expect((await call({ [header]: '' })).status).toBe(403);
    expect((await call({ [header]: `${secret}x` })).status).toBe(403);
    expect((await call({ [header]: secret.slice(1) })).status).toBe(403);
    expect((await call({ [header]: secret }, '00000000-0000-4000-8000-000000000000')).status).toBe(404);
    expect((await call({ [header]: secret }, 'x')).status).toBe(404);
    const other = await chat('chat_bot', {}, await t.tenant());
    expect((await call({ [header]: secret }, other.id)).status).toBe(403);
    expect((await approvalOf(approval.id)).status).toBe('pending');
    expect(await call({ [header]: secret })).toEqual({ status: 200, body: null });
    expect((await approvalOf(approval.id)).status).toBe('approved');
    await t.call('updateChannel', { params: { channel_id: channel.id }, body: { enabled: false } }, user);
    expect((await call({ [header]: secret })).status).toBe(404);
  });

  it('takes whatever else it sends', async () => {
    const channel = await chat('chat_bot');
    const approval = await ask();
    const headers = { 'x-chat-bot-secret-token': await secretOf(channel.id) };
    const bodies = [
      '',
      'null',
      '[]',
      '{',
      '{"callback_query":[]}',
      '{"update_id":1,"message":{"text":"hello"}}',
      JSON.stringify(botUpdate('approve:')),
      JSON.stringify(botUpdate(`approve:${approval.id}`, { chat: 5 })),
      JSON.stringify({
        callback_query: { ...botUpdate(`approve:${approval.id}`).callback_query, message: undefined },
      }),
      JSON.stringify(botUpdate(`maybe:${approval.id}`)),
      JSON.stringify(botUpdate(`approve:${approval.id}`, { from: {} })),
    ];
    for (const text of bodies) {
      expect(await post('chatBotCallback', text, headers, { channel_id: channel.id })).toEqual({
        status: 200,
        body: null,
      });
    }
    expect((await approvalOf(approval.id)).status).toBe('pending');
  });
});

describe('a workspace chat', () => {
  it('without an app shows a link instead of buttons, and says what was decided', async () => {
    await create('workspace_chat', { webhook_url: `${platforms.url}/services/T0/B0/x` });
    const approval = await ask({ message: '<!channel> *x*' });
    await seen(1);
    const link = `https://hub.example/dashboard/approvals/${approval.id}`;
    expect(shown()).toContain(link);
    expect(shown()).not.toContain('approve:');
    expect(platforms.messages[0]?.body.text).not.toContain('<');
    await t.call('decideApproval', { params: { approval_id: approval.id }, body: { approved: false } }, user);
    await seen(2);
    expect(shown(1)).toContain('Denied');
  });

  it.each([
    ['with an app', () => chat('workspace_chat_app')],
    ['without one', () => create('workspace_chat', { webhook_url: `${platforms.url}/services/T0/B0/x` })],
  ])('%s shows a call without arguments', async (_, createChannel) => {
    const { id } = await createChannel();
    await ask({ tool_args: {} });
    await delivered(id, 1);
    expect(shown()).toContain('Approval requested');
  });

  it('has no button that it could not take, where a message is about no approval', async () => {
    await chat('workspace_chat_app');
    const observe = (description: string) => {
      const tools = readToolList([{ name: 'read', description }]).tools.map(({ name, definition }) => ({
        ...{ name, definition },
        fingerprint: fingerprintOf(definition, (text) => createHash('sha256').update(text).digest('hex')),
      }));
      return t.call('observeTools', { body: { agent_id: 'agent-1', server: 'files', tools } }, t.key(user));
    };
    await observe('v1');
    await observe('v2');
    await seen(1);
    expect(shown()).toContain('Tool definition changed');
    expect(shown()).not.toContain('action_id');
    expect(shown()).toContain('<https://hub.example/dashboard/tools/');
  });

  it('is believed by a signature over its exact bytes, at most 5 minutes old', async () => {
    await chat('workspace_chat_app');
    const approval = await askInChat();
    const { text, headers } = workspaceInteraction(`reeve_approve:${approval.id}`, 'signing secret', now());
    const call = (body: string, other: { [name: string]: string }) =>
      post('workspaceChatInteraction', body, other);
    const signed = (seconds: number, secret = 'signing secret') => workspaceHeaders(text, secret, seconds);
    const refused: [string, { [name: string]: string }][] = [
      [text, {}],
      [`${text}&x=1`, headers],
      [text.replace('approve', 'deny'), headers],
      [text, { ...headers, 'x-slack-request-timestamp': String(now() + 1) }],
      [text, { ...headers, 'x-slack-signature': '' }],
      [text, { ...headers, 'x-slack-signature': headers['x-slack-signature'].replace('v0=', '') }],
      [text, { 'x-slack-signature': headers['x-slack-signature'] }],
      [text, signed(now() - 301)],
      [text, signed(now() + 301)],
      [text, { ...signed(now()), 'x-slack-request-timestamp': 'NaN' }],
      [text, signed(now(), 'another secret')],
    ];
    for (const [body, other] of refused) expect(await call(body, other)).toEqual({ status: 403, body: null });
    expect((await approvalOf(approval.id)).status).toBe('pending');
    const taken = await call(text, signed(now() - 299));
    expect(taken).toMatchObject({ status: 200, body: { replace_original: true } });
    expect(JSON.stringify(taken.body.blocks)).toContain('Approved');
    expect(JSON.stringify((await call(text, headers)).body.blocks)).toContain('workspace_chat:ann');
    const unknown = workspaceInteraction(
      'reeve_approve:00000000-0000-4000-8000-000000000000',
      'signing secret',
      now(),
    );
    expect((await call(unknown.text, unknown.headers)).status).toBe(403);
    for (const odd of ['payload=%7B', 'payload=[]', 'x', '']) {
      expect(await call(odd, workspaceHeaders(odd, 'signing secret', now()))).toEqual({
        status: 403,
        body: null,
      });
    }
  });

  it('that shares its secret with another tenant decides in the tenant of the approval', async () => {
    const other = await t.tenant();
    const theirs = await chat('workspace_chat_app', {}, other);
    t.clock.advance(1000);
    await chat('workspace_chat_app');
    const approval = await ask({}, other);
    await seen(1);
    await press('workspace_chat_app', theirs.id, `approve:${approval.id}`);
    expect((await approvalOf(approval.id, other)).status).toBe('approved');
  });

  it('takes a press of its link, which decides nothing', async () => {
    await chat('workspace_chat_app');
    const approval = await askInChat();
    await seen(1);
    expect(shown()).toContain(`reeve_open:${approval.id}`);
    const { text, headers } = workspaceInteraction(`reeve_open:${approval.id}`, 'signing secret', now());
    expect(await post('workspaceChatInteraction', text, headers)).toEqual({ status: 200, body: null });
    expect((await approvalOf(approval.id)).status).toBe('pending');
  });

  it('opens no channel for a callback that names no approval, or one that no channel got', async () => {
    await chat('workspace_chat_app');
    const enabledOfKind = vi.spyOn(t.hub.store.channels, 'listEnabledOfKind');
    const byId = vi.spyOn(t.hub.store.channels, 'getById');
    for (const action of ['reeve_open', 'reeve_approve:00000000-0000-4000-8000-000000000000']) {
      const { text, headers } = workspaceInteraction(action, 'wrong', now());
      expect((await post('workspaceChatInteraction', text, headers)).status).toBe(403);
    }
    expect(enabledOfKind).not.toHaveBeenCalled();
    expect(byId).not.toHaveBeenCalled();
  });

  it('opens the settings of a channel once until they change', async () => {
    const channel = await chat('workspace_chat_app');
    const approval = await askInChat();
    await delivered(channel.id, 1);
    const unseal = vi.spyOn(t.hub.secrets, 'unseal');
    const pressWith = async (secret: string) => {
      const { text, headers } = workspaceInteraction(`reeve_open:${approval.id}`, secret, now());
      return (await post('workspaceChatInteraction', text, headers)).status;
    };
    for (const secret of ['wrong', 'signing secret', 'wrong']) {
      expect(await pressWith(secret)).toBe(secret === 'wrong' ? 403 : 200);
    }
    expect(unseal.mock.calls.length).toBeLessThanOrEqual(1);
    const config = { ...configs.workspace_chat_app, signing_secret: 'another' };
    await t.call('updateChannel', { params: { channel_id: channel.id }, body: { config } }, user);
    expect(await pressWith('signing secret')).toBe(403);
    expect(await pressWith('another')).toBe(200);
  });

  it('refuses a network after 60 wrong signatures, and never a right one', async () => {
    await chat('workspace_chat_app');
    const approval = await askInChat();
    const pressWith = (secret: string) => {
      const { text, headers } = workspaceInteraction(`reeve_approve:${approval.id}`, secret, now());
      return post('workspaceChatInteraction', text, headers);
    };
    for (let i = 0; i < 60; i++) expect((await pressWith('wrong')).status).toBe(403);
    await expect(pressWith('wrong')).rejects.toThrow('Too many callbacks have a wrong signature.');
    expect((await pressWith('signing secret')).status).toBe(200);
    expect((await approvalOf(approval.id)).status).toBe('approved');
  });

  it('with a secret that two channels share decides in the one where the button is', async () => {
    const strict = await chat('workspace_chat_app', { channel: 'C0STRICT', allowed_user_ids: ['boss'] });
    const free = await chat('workspace_chat_app');
    const approval = await askInChat();
    for (const { id } of [strict, free]) await delivered(id, 1);
    const pressIn = async (chatId: string | null) => {
      const person = { id: '777', username: 'ann' };
      const action = `reeve_approve:${approval.id}`;
      const { text, headers } = workspaceInteraction(action, 'signing secret', now(), person, chatId);
      return (await post('workspaceChatInteraction', text, headers)).body;
    };
    const refusal = expect.objectContaining({ text: 'You are not allowed to decide here.' });
    expect(await pressIn('C0STRICT')).toEqual(refusal);
    expect(await pressIn(null)).toEqual(refusal);
    expect(JSON.stringify(await pressIn('C0OTHER'))).toContain('no longer pending');
    expect((await approvalOf(approval.id)).status).toBe('pending');
    await pressIn('C0REAL');
    expect((await approvalOf(approval.id)).status).toBe('approved');
  });

  it('has a manifest', async () => {
    const { body } = await t.call('workspaceChatManifest');
    expect(body).toMatchObject({
      oauth_config: { scopes: { bot: ['chat:write'] } },
      settings: {
        interactivity: {
          is_enabled: true,
          request_url: 'https://hub.example/api/v1/workspace_chat/interactions',
        },
      },
    });
  });
});

describe('a community chat', () => {
  it('has a visible value for a reason of blanks', async () => {
    await chat('community_chat');
    const { id } = await ask();
    await seen(1);
    const decision = { params: { approval_id: id }, body: { approved: false, reason: ' \u00a0 ' } };
    await t.call('decideApproval', decision, user);
    await expect.poll(() => platforms.messages[0]?.edits).toBe(1);
    expect(platforms.messages[0]?.body.embeds[0].fields).toContainEqual({
      name: 'Reason',
      value: '-',
      inline: true,
    });
  });

  it('is believed by its Ed25519 signature, at most 5 minutes old', async () => {
    await chat('community_chat');
    const approval = await askInChat();
    const call = ({ text, headers }: { text: string; headers: { [name: string]: string } }) =>
      post('communityChatInteraction', text, headers);
    const good = application.press(`reeve_approve:${approval.id}`, now());
    const stranger = communityApplication();
    const refused = [
      { ...good, headers: {} },
      { ...good, text: good.text.replace('approve', 'deny') },
      { ...good, headers: { ...good.headers, 'x-signature-timestamp': String(now() - 1) } },
      { ...good, headers: { ...good.headers, 'x-signature-ed25519': '00'.repeat(64) } },
      { ...good, headers: { ...good.headers, 'x-signature-ed25519': 'zz' } },
      application.press(`reeve_approve:${approval.id}`, now() - 301),
      application.press(`reeve_approve:${approval.id}`, now() + 301),
      stranger.press(`reeve_approve:${approval.id}`, now()),
      stranger.ping(now()),
    ];
    for (const one of refused) expect(await call(one)).toEqual({ status: 401, body: null });
    expect((await approvalOf(approval.id)).status).toBe('pending');
    expect(await call(application.ping(now()))).toEqual({ status: 200, body: { type: 1 } });
    expect(await call(application.signed('{', now()))).toEqual({ status: 400, body: null });
    expect(await call(application.signed('{"type":2}', now()))).toEqual({ status: 200, body: { type: 1 } });
    const taken = await call(good);
    expect(taken).toMatchObject({ status: 200, body: { type: 7, data: { components: [] } } });
    expect(JSON.stringify(taken.body)).toContain('Approved');
    expect((await approvalOf(approval.id)).status).toBe('approved');
  });

  it('takes no press in the chat of another channel', async () => {
    const channel = await chat('community_chat');
    const filters = { environments: ['staging'] };
    await create('community_chat', { ...configs.community_chat, channel: '111' }, user, { filters });
    const approval = await askInChat();
    await delivered(channel.id, 1);
    const pressIn = (channel_id: string) => {
      const { text, headers } = application.press(`reeve_approve:${approval.id}`, now(), { channel_id });
      return post('communityChatInteraction', text, headers);
    };
    expect(JSON.stringify((await pressIn('111')).body)).toContain('no longer pending');
    expect((await approvalOf(approval.id)).status).toBe('pending');
    expect(JSON.stringify((await pressIn('a thread')).body)).toContain('Approved');
  });

  it('tells who may not decide so, alone', async () => {
    const channel = await chat('community_chat', { allowed_user_ids: ['1'] });
    const approval = await askInChat();
    expect((await press('community_chat', channel.id, `approve:${approval.id}`)).body).toEqual({
      type: 4,
      data: { content: 'You are not allowed to decide here.', flags: 64 },
    });
    expect(JSON.stringify((await approvalOf(approval.id)).status)).toContain('pending');
  });
});
