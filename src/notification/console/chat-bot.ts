// Buttons pressed in a bot chat, whose callback comes to either API: the platform's proof and words, and the parts that
// other chat platforms' callbacks read alike. notification/use-cases/chat-decisions.ts acts on a press.

import type { CountLimit, Limit } from '../../admission/limit.ts';
import type { Request } from '../../http/contract/call.ts';
import type { Hub } from '../../http/contract/handler.ts';
import { uuidPattern } from '../../shared/ids.ts';
import type { OpenChannel } from '../use-cases/channels.ts';
import type { Press, PressResult } from '../use-cases/chat-decisions.ts';

type Fields = { readonly [field: string]: unknown };

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

export const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null;

/** Undefined for what is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A button of a message: the approval that it belongs to. `approved` is null for a button that decides nothing. */
export interface Button {
  readonly approvalId: string;
  readonly approved: boolean | null;
}

const buttons = { approve: true, deny: false, open: null } as const;

/**
 * Reads a button's id: `approve:<id>`, `deny:<id>`, `open:<id>`, with a prefix where the platform has one namespace for
 * all. Null for anything else.
 */
export function buttonOf(text: unknown, prefix: string): Button | null {
  if (typeof text !== 'string' || !text.startsWith(prefix)) return null;
  const [, verb, id = ''] = /^(approve|deny|open):(.+)$/.exec(text.slice(prefix.length)) ?? [];
  if (!uuidPattern.test(id)) return null;
  return { approvalId: id.toLowerCase(), approved: buttons[verb as keyof typeof buttons] };
}

/** @throws HubError rate_limited when too many come to one channel */
export const countCallback = (
  count: CountLimit,
  limit: Limit,
  { channel: { id, tenantId } }: OpenChannel,
): Promise<void> => count(limit, { channelId: id, tenantId });

/** Short text that the button itself shows for a moment. */
function shortAnswer(result: PressResult): string {
  if (result.kind === 'forbidden') return 'You are not allowed to decide here.';
  if (result.kind === 'unknown') return 'This request is no longer pending.';
  const { status } = result.approval;
  const word = status === 'approved' ? 'Approved' : status === 'denied' ? 'Denied' : 'Timed out';
  return result.kind === 'decided' ? `${word}.` : `${word} already.`;
}

/** The press in an update of a bot chat. */
function readUpdate(body: Uint8Array) {
  const update = fieldsOf(jsonOf(Buffer.from(body).toString()));
  const query = fieldsOf(update.callback_query);
  const button = buttonOf(query.data, '');
  const from = fieldsOf(query.from);
  const userId = textOf(from.id) ?? textOf(from.username);
  if (!button || button.approved === null || userId === null) return null;
  const { approvalId, approved } = button;
  const chatId = textOf(fieldsOf(fieldsOf(query.message).chat).id);
  const press: Press = { approvalId, approved, userId, userName: textOf(from.username), chatId };
  return { press, queryId: textOf(query.id), updateId: textOf(update.update_id) };
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
  { header, limits }: Pick<Request, 'header' | 'limits'>,
  limit: Limit,
): Promise<'unknown' | 'refused' | 'taken'> {
  const { chatDecisions } = hub.app;
  const open = uuidPattern.test(channelId) ? await chatDecisions.channel(channelId, 'chatBot') : null;
  if (!open) return 'unknown';
  const presented = presentedSecret(hub, header);
  if (presented === null || !hub.secrets.equal(presented, open.config.webhookSecret)) return 'refused';
  await countCallback(limits.count, limit, open);
  const update = readUpdate(body);
  if (update === null) return 'taken';
  const inChat = await chatDecisions.botChannels(open, update.press.chatId);
  if (inChat.length === 0) return 'taken';
  const result = await chatDecisions.once(open, update.updateId, () =>
    chatDecisions.press(inChat, update.press, 'chat_bot'),
  );
  if (result !== null && update.queryId !== null) {
    // The platform waits for the answer to its callback first.
    hub.messengers
      .answer({ config: open.config, queryId: update.queryId, text: shortAnswer(result) })
      .catch((err: unknown) => hub.log.debug({ err, channel: channelId }, 'cannot answer a button press'));
  }
  return 'taken';
}
