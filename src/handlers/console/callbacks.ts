// Buttons that were pressed in chats: each platform's proof and words. What a press does is app/chat-decisions.ts.
import { Reply } from '../../api/call.ts';
import type { callbackRoutes } from '../../api/callbacks.ts';
import type { Press, PressResult } from '../../app/chat-decisions.ts';
import { enforceLimit } from '../../app/rate-limit.ts';
import { uuidPattern } from '../../domain/ids.ts';
import { limitNames } from '../../domain/limit-names.ts';
import type { Handlers, Hub } from './hub.ts';

/** A signature is good for so long, before and after its time. */
const freshSeconds = 300;
const callbacksPerMinute = 600;

type Fields = { readonly [field: string]: unknown };

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null;

/** Undefined for what is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a button says: `approve:<id>`, `deny:<id>`, with a prefix where the platform has one namespace for all. */
function actionOf(text: unknown, prefix: string): Pick<Press, 'approvalId' | 'approved'> | null {
  if (typeof text !== 'string' || !text.startsWith(prefix)) return null;
  const [, verb, id = ''] = /^(approve|deny):(.+)$/.exec(text.slice(prefix.length)) ?? [];
  return verb && uuidPattern.test(id) ? { approvalId: id.toLowerCase(), approved: verb === 'approve' } : null;
}

const isFresh = (hub: Hub, timestamp: string | null): timestamp is string =>
  timestamp !== null &&
  /^\d{1,12}$/.test(timestamp) &&
  Math.abs(hub.clock.now() / 1000 - Number(timestamp)) <= freshSeconds;

const empty = (status: number) => new Reply(null, { status });
const nothing = empty(200);

const take = ({ limits }: Hub, channelId: string): Promise<void> =>
  enforceLimit(limits, { name: limitNames.callbacks(channelId), max: callbacksPerMinute, windowMs: 60_000 });

/** What the button itself says for a moment. */
function shortAnswer(result: PressResult): string {
  if (result.kind === 'forbidden') return 'You may not decide here.';
  if (result.kind === 'unknown') return 'This request is no longer open.';
  const { status } = result.approval;
  const word = status === 'approved' ? 'Approved' : status === 'denied' ? 'Denied' : 'Timed out';
  return result.kind === 'decided' ? `${word}.` : `${word} already.`;
}

/** The press in an update of a bot chat. */
function readUpdate(body: Uint8Array) {
  const query = fieldsOf(fieldsOf(jsonOf(Buffer.from(body).toString())).callback_query);
  const action = actionOf(query.data, '');
  const from = fieldsOf(query.from);
  const userId = textOf(from.id) ?? textOf(from.username);
  if (!action || userId === null) return null;
  const chatId = textOf(fieldsOf(fieldsOf(query.message).chat).id);
  const press: Press = { ...action, userId, userName: textOf(from.username) };
  return { press, chatId, queryId: textOf(query.id) };
}

/** The presented secret, whichever of the header names carries it. */
function presentedSecret(hub: Hub, header: (name: string) => string | null): string | null {
  for (const name of hub.settings.chatBotSecretHeaders) {
    const value = header(name);
    if (value !== null) return value;
  }
  return null;
}

/**
 * A bot chat's callback.
 * @returns `unknown` (no such enabled channel), `refused` (wrong secret), else `taken`, whatever it held
 */
export async function chatBotCallback(
  hub: Hub,
  channelId: string,
  body: Uint8Array,
  header: (name: string) => string | null,
): Promise<'unknown' | 'refused' | 'taken'> {
  const { chatDecisions } = hub.app;
  const open = uuidPattern.test(channelId) ? await chatDecisions.channel(channelId, 'chatBot') : null;
  if (!open) return 'unknown';
  const presented = presentedSecret(hub, header);
  if (presented === null || !hub.secrets.equal(presented, open.config.webhookSecret)) return 'refused';
  await take(hub, channelId);
  const update = readUpdate(body);
  if (!update || (update.chatId !== null && update.chatId !== open.config.chatId)) return 'taken';
  const result = await chatDecisions.press(open, update.press, 'chat_bot');
  if (update.queryId !== null) {
    // The platform waits for the answer to its callback first.
    hub.messengers
      .answer({ config: open.config, queryId: update.queryId, text: shortAnswer(result) })
      .catch((err: unknown) => hub.log.debug({ err, channel: channelId }, 'a pressed button got no answer'));
  }
  return 'taken';
}

export const callbacks: Handlers<typeof callbackRoutes> = {
  async chatBotCallback(hub, { params, body }, _caller, request) {
    const outcome = await chatBotCallback(hub, params.channel_id, body, (name) => request.header(name));
    return empty(outcome === 'unknown' ? 404 : outcome === 'refused' ? 403 : 200);
  },

  async workspaceChatInteraction(hub, { body }, _caller, request) {
    const timestamp = request.header('x-slack-request-timestamp');
    const signature = request.header('x-slack-signature');
    if (!isFresh(hub, timestamp) || signature === null) return empty(403);
    const payload = fieldsOf(jsonOf(new URLSearchParams(Buffer.from(body).toString()).get('payload') ?? ''));
    const [first] = Array.isArray(payload.actions) ? payload.actions : [];
    const action = actionOf(fieldsOf(first).action_id, `${hub.settings.wire.actionPrefix}_`);
    const signed = Buffer.concat([Buffer.from(`v0:${timestamp}:`), body]);
    const open = await hub.app.chatDecisions.signedChannel(
      'workspaceChatApp',
      action?.approvalId ?? null,
      ({ signingSecret }) => hub.secrets.equal(signature, `v0=${hub.secrets.hmac(signingSecret, signed)}`),
    );
    if (!open) return empty(403);
    await take(hub, open.channel.id);
    const user = fieldsOf(payload.user);
    const userId = textOf(user.id) ?? textOf(user.username);
    if (!action || userId === null) return nothing;
    const press: Press = { ...action, userId, userName: textOf(user.username) ?? textOf(user.name) };
    const result = await hub.app.chatDecisions.press(open, press, 'workspace_chat');
    return { ...hub.messengers.reply('workspaceChatApp', hub.app.chatDecisions.noticeOf(result)) };
  },

  workspaceChatManifest: async ({ settings }) => ({
    display_information: { name: 'Reeve', description: 'Approvals of what agents may do' },
    features: { bot_user: { display_name: 'Reeve', always_online: true } },
    oauth_config: { scopes: { bot: ['chat:write'] } },
    settings: {
      interactivity: {
        is_enabled: true,
        request_url: `${settings.baseUrl}/api/v1/workspace_chat/interactions`,
      },
      org_deploy_enabled: false,
      socket_mode_enabled: false,
      token_rotation_enabled: false,
    },
  }),

  async communityChatInteraction(hub, { body }, _caller, request) {
    const timestamp = request.header('x-signature-timestamp');
    const signature = request.header('x-signature-ed25519');
    if (!isFresh(hub, timestamp) || signature === null) return empty(401);
    const value = jsonOf(Buffer.from(body).toString());
    const interaction = fieldsOf(value);
    const action = actionOf(fieldsOf(interaction.data).custom_id, `${hub.settings.wire.actionPrefix}_`);
    const signed = Buffer.concat([Buffer.from(timestamp), body]);
    const open = await hub.app.chatDecisions.signedChannel(
      'communityChat',
      action?.approvalId ?? null,
      ({ publicKey }) => publicKey !== null && hub.secrets.verify(publicKey, signed, signature),
    );
    if (!open) return empty(401);
    await take(hub, open.channel.id);
    if (value === undefined) return empty(400);
    const member = fieldsOf(fieldsOf(interaction.member).user);
    const user = member.id === undefined ? fieldsOf(interaction.user) : member;
    const userId = textOf(user.id) ?? textOf(user.username);
    if (interaction.type !== 3 || !action || userId === null) return { type: 1 };
    const press: Press = { ...action, userId, userName: textOf(user.username) };
    const result = await hub.app.chatDecisions.press(open, press, 'community_chat');
    return { ...hub.messengers.reply('communityChat', hub.app.chatDecisions.noticeOf(result)) };
  },
};
