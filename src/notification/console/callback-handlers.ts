// Buttons that were pressed in chats: each platform's proof and words. notification/use-cases/chat-decisions.ts acts on
// a press.

import { limits } from '../../admission/limit.ts';
import { Reply, type Request } from '../../http/contract/call.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import type { Press } from '../use-cases/chat-decisions.ts';
import type { callbackRoutes } from './callback-routes.ts';
import { buttonOf, chatBotCallback, countCallback, fieldsOf, jsonOf, textOf } from './chat-bot.ts';

/** A signature is good for so long, before and after its time. */
const freshSeconds = 300;

const isFresh = (hub: Hub, timestamp: string | null): timestamp is string =>
  timestamp !== null &&
  /^\d{1,12}$/.test(timestamp) &&
  Math.abs(hub.clock.now() / 1000 - Number(timestamp)) <= freshSeconds;

/** The type of a community chat's interaction. */
const buttonPressed = 3;

const empty = (status: number) => new Reply(null, { status });
const nothing = empty(200);

/**
 * The answer to a wrong signature. One that fits is never refused because of earlier wrong ones: it is checked first.
 * @throws HubError rate_limited when too many came from the network
 */
async function refused({ limits: { count } }: Pick<Request, 'limits'>, status: 401 | 403) {
  await count(limits.wrongSignatures);
  return empty(status);
}

export const callbacks: Handlers<typeof callbackRoutes> = {
  async chatBotCallback(hub, { params, body }, _caller, request) {
    const outcome = await chatBotCallback(hub, params.channel_id, body, request, limits.consoleCallbacks);
    return empty(outcome === 'unknown' ? 404 : outcome === 'refused' ? 403 : 200);
  },

  async workspaceChatInteraction(hub, { body }, _caller, request) {
    const timestamp = request.header('x-slack-request-timestamp');
    const signature = request.header('x-slack-signature');
    if (!isFresh(hub, timestamp) || signature === null) return empty(403);
    const payload = fieldsOf(jsonOf(new URLSearchParams(Buffer.from(body).toString()).get('payload') ?? ''));
    const [first] = Array.isArray(payload.actions) ? payload.actions : [];
    const button = buttonOf(fieldsOf(first).action_id, `${hub.settings.wire.actionPrefix}_`);
    // Every button carries its approval's id. Without one there is nothing to check the signature against.
    if (!button) return empty(403);
    const { approvalId, approved } = button;
    const signed = Buffer.concat([Buffer.from(`v0:${timestamp}:`), body]);
    const open = await hub.app.chatDecisions.signedChannels(
      'workspaceChatApp',
      approvalId,
      ({ signingSecret }) => hub.secrets.equal(signature, `v0=${hub.secrets.hmac(signingSecret, signed)}`),
    );
    if (!open[0]) return refused(request, 403);
    await countCallback(request.limits.count, limits.consoleCallbacks, open[0]);
    const user = fieldsOf(payload.user);
    const userId = textOf(user.id) ?? textOf(user.username);
    if (approved === null || userId === null) return nothing;
    const userName = textOf(user.username) ?? textOf(user.name);
    const chatId = textOf(fieldsOf(payload.container).channel_id) ?? textOf(fieldsOf(payload.channel).id);
    const press: Press = { approvalId, approved, userId, userName, chatId };
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
    const signed = Buffer.concat([Buffer.from(timestamp), body]);
    const isSigned = (publicKey: string): boolean => hub.secrets.verify(publicKey, signed, signature);
    if (interaction.type !== buttonPressed) {
      // The platform asks so, now and then, whether signatures are checked here. Any application's key may fit.
      await request.limits.check(limits.wrongSignatures);
      if (!(await hub.app.chatDecisions.someChannelSigned(isSigned))) return refused(request, 401);
      return value === undefined ? empty(400) : { type: 1 };
    }
    const button = buttonOf(fieldsOf(interaction.data).custom_id, `${hub.settings.wire.actionPrefix}_`);
    if (!button) return empty(401);
    const { approvalId, approved } = button;
    const open = await hub.app.chatDecisions.signedChannels(
      'communityChat',
      approvalId,
      ({ publicKey }) => publicKey !== null && isSigned(publicKey),
    );
    if (!open[0]) return refused(request, 401);
    await countCallback(request.limits.count, limits.consoleCallbacks, open[0]);
    const member = fieldsOf(fieldsOf(interaction.member).user);
    const user = member.id === undefined ? fieldsOf(interaction.user) : member;
    const userId = textOf(user.id) ?? textOf(user.username);
    if (approved === null || userId === null) return { type: 1 };
    const [userName, chatId] = [textOf(user.username), textOf(interaction.channel_id)];
    const press: Press = { approvalId, approved, userId, userName, chatId };
    const result = await hub.app.chatDecisions.press(open, press, 'community_chat');
    return { ...hub.messengers.reply('communityChat', hub.app.chatDecisions.noticeOf(result)) };
  },
};
