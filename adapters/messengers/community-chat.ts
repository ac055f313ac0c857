// Community chats: embeds with buttons that come back, edited when the approval ends. Nobody is mentioned.

import type { Sending } from '../../src/notification/port/messengers.ts';
import type { ConfigOf } from '../../src/notification/record.ts';
import type { AttemptOutcome } from '../../src/notification/rules/delivery.ts';
import type { Notice } from '../../src/notification/rules/notice.ts';
import type { OutboundHead } from '../../src/shared/ports/outbound.ts';
import { type ApiParts, callApi, idOf, limited, messageIdIn, messageIn } from './api.ts';
import { type Card, cardOf } from './card.ts';

export interface CommunityChatParts extends ApiParts {
  /** Without a slash at its end. */
  readonly communityChatUrl: string;
  /** Prefix of the ids of buttons. */
  readonly actionPrefix: string;
}

type Answer = { readonly [field: string]: unknown };

/** Markdown, mentions and links of the platform all have one of these. */
const escapeMarkdown = (text: string): string =>
  text.replace(/[\\*_~`|<>#@[\]]/g, (character) => `\\${character}`);

const colors = { asking: 0x3b82f6, good: 0x16a34a, bad: 0xdc2626, quiet: 0x6b7280 } as const;

function embedOf({ title, facts, message, args, tone }: Card): object {
  const texts = [
    ...(message === null ? [] : [escapeMarkdown(message)]),
    ...(args === null ? [] : [`\`\`\`\n${args.replaceAll('`', 'ˋ')}\n\`\`\``]),
  ];
  return {
    title,
    color: colors[tone],
    fields: facts.map(([name, value]) => ({
      name,
      value: value.trim() === '' ? '-' : escapeMarkdown(value),
      inline: true,
    })),
    ...(texts.length === 0 ? {} : { description: texts.join('\n') }),
  };
}

function componentsOf({ decides, link }: Card, actionPrefix: string): readonly object[] {
  const button = (style: number, label: string, action: string) => ({
    type: 2,
    style,
    label,
    custom_id: `${actionPrefix}_${action}:${decides}`,
  });
  const buttons = [
    ...(decides === null ? [] : [button(3, 'Approve', 'approve'), button(4, 'Deny', 'deny')]),
    ...(link === null ? [] : [{ type: 2, style: 5, label: 'Open', url: link }]),
  ];
  return buttons.length === 0 ? [] : [{ type: 1, components: buttons }];
}

/** Kinds of answers, and the flag of one that only the person who pressed sees. */
const [newMessage, updateMessage, onlyForThem] = [4, 7, 64];

/** The answer to a press of a button: the message as it is from now on, or (null) that this person may not decide. */
export const communityChatReply = (notice: Notice | null): object =>
  notice === null
    ? { type: newMessage, data: { content: 'You are not allowed to decide here.', flags: onlyForThem } }
    : { type: updateMessage, data: { embeds: [embedOf(cardOf(notice))], components: [] } };

/** @param chat of the message */
function read(
  chat: string,
  { id, retry_after: seconds }: Answer,
  { status }: OutboundHead,
): AttemptOutcome | null {
  if (status === 429) return limited(status, seconds);
  if (status < 200 || status >= 300) return null;
  return { kind: 'delivered', status, messageId: messageIdIn(chat, idOf(id)) };
}

/** @throws OutboundError('aborted') */
export async function sendCommunityChat(
  parts: CommunityChatParts,
  { botToken, channel }: ConfigOf<'communityChat'>,
  { notice, signal }: Sending,
): Promise<AttemptOutcome> {
  const card = cardOf(notice);
  const edited = notice.kind === 'decided' || notice.kind === 'expired' ? notice.messageId : null;
  // A message stays in its chat when the channel moves to another one.
  const message = edited === null ? null : messageIn(channel, edited);
  const chat = message?.chat ?? channel;
  const messages = `${parts.communityChatUrl}/channels/${encodeURIComponent(chat)}/messages`;
  const outcome = await callApi(
    parts,
    {
      method: message === null ? 'POST' : 'PATCH',
      url: message === null ? messages : `${messages}/${encodeURIComponent(message.id)}`,
      token: `Bot ${botToken}`,
      body: {
        embeds: [embedOf(card)],
        components: componentsOf(card, parts.actionPrefix),
        allowed_mentions: { parse: [] },
      },
      signal,
    },
    (answer, head) => read(chat, answer, head),
  );
  // A message that somebody deleted needs no edit.
  const isGone = message !== null && outcome.kind === 'failed' && outcome.status === 404;
  return isGone ? { kind: 'delivered', status: 404, messageId: null } : outcome;
}
