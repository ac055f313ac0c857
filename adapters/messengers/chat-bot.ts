// Bot chats: messages with two buttons whose presses come back to the hub, edited when the approval ends.

import type { ButtonAnswer, Sending } from '../../src/notification/port/messengers.ts';
import type { ConfigOf } from '../../src/notification/record.ts';
import type { AttemptOutcome } from '../../src/notification/rules/delivery.ts';
import type { OutboundHead } from '../../src/shared/ports/outbound.ts';
import { isSuccess } from './answers.ts';
import { type ApiParts, callApi, idOf, limited, messageIdIn, messageIn, rejected } from './api.ts';
import { type Card, cardOf } from './card.ts';

export interface ChatBotParts extends ApiParts {
  /** Without a slash at its end. */
  readonly chatBotUrl: string;
}

type Config = ConfigOf<'chatBot'>;
type Answer = { readonly [field: string]: unknown };

/** The platform reads a few HTML elements; nothing of other people's texts may be one. */
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function textOf({ title, facts, message, args, link, decides, tone }: Card): string {
  const isDecidedElsewhere = tone === 'asking' && decides === null;
  const lines = [
    `<b>${escapeHtml(title)}</b>`,
    ...facts.map(([label, value]) => `<b>${label}:</b> ${escapeHtml(value)}`),
    ...(message === null ? [] : ['', escapeHtml(message)]),
    ...(args === null ? [] : ['', `<pre>${escapeHtml(args)}</pre>`]),
    ...(isDecidedElsewhere && link !== null ? ['', escapeHtml(link)] : []),
  ];
  return lines.join('\n');
}

function keyboardOf({ decides }: Card): object {
  if (decides === null) return { inline_keyboard: [] };
  const buttons = [
    { text: 'Approve', callback_data: `approve:${decides}` },
    { text: 'Deny', callback_data: `deny:${decides}` },
  ];
  return { inline_keyboard: [buttons] };
}

/** @param chatId of the message */
function read(chatId: string, answer: Answer, { status }: OutboundHead): AttemptOutcome | null {
  const { ok, result, parameters, description } = answer;
  if (ok === true) {
    if (!isSuccess(status)) return null;
    const message = typeof result === 'object' && result !== null ? (result as Answer).message_id : null;
    return { kind: 'delivered', status, messageId: messageIdIn(chatId, idOf(message)) };
  }
  if (ok !== false) return null;
  if (status === 429) return limited(status, (parameters as Answer | undefined)?.retry_after);
  if (status >= 500) return null;
  // An earlier attempt whose answer was lost had edited it already.
  if (typeof description === 'string' && description.includes('message is not modified')) {
    return { kind: 'delivered', status, messageId: null };
  }
  return rejected(status);
}

const call = (
  parts: ChatBotParts,
  { botToken, chatId }: Config,
  method: string,
  body: object,
  signal?: AbortSignal,
): Promise<AttemptOutcome> =>
  callApi(
    parts,
    { url: `${parts.chatBotUrl}/bot${encodeURI(botToken)}/${method}`, body, signal },
    (answer, head) => read(chatId, answer, head),
  );

/** @throws OutboundError('aborted') */
export function sendChatBot(
  parts: ChatBotParts,
  config: Config,
  { notice, signal }: Sending,
): Promise<AttemptOutcome> {
  const card = cardOf(notice);
  const edited = notice.kind === 'decided' || notice.kind === 'expired' ? notice.messageId : null;
  // A message stays in its chat when the channel moves to another one.
  const message = edited === null ? null : messageIn(config.chatId, edited);
  const chatId = message?.chat ?? config.chatId;
  const content = {
    chat_id: chatId,
    text: textOf(card),
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  };
  if (message !== null) {
    const edit = { ...content, message_id: Number(message.id), reply_markup: keyboardOf(card) };
    return call(parts, { ...config, chatId }, 'editMessageText', edit, signal);
  }
  const buttons = card.decides === null ? {} : { reply_markup: keyboardOf(card) };
  return call(parts, config, 'sendMessage', { ...content, ...buttons }, signal);
}

/**
 * Where the platform sends presses of buttons, and the secret that it presents there.
 * @throws OutboundError('aborted')
 */
export const registerChatBot = (
  parts: ChatBotParts,
  config: Config,
  callbackUrl: string,
  signal?: AbortSignal,
): Promise<AttemptOutcome> => {
  const registration = {
    url: callbackUrl,
    secret_token: config.webhookSecret,
    allowed_updates: ['callback_query'],
  };
  return call(parts, config, 'setWebhook', registration, signal);
};

export const answerChatBot = (
  parts: ChatBotParts,
  { config, queryId, text }: ButtonAnswer,
): Promise<AttemptOutcome> =>
  call(parts, config, 'answerCallbackQuery', { callback_query_id: queryId, text });
