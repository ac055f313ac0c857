// Workspace chats: an incoming webhook with a link, or an app whose buttons come back and whose messages are edited.

import type { Sending } from '../../src/notification/port/messengers.ts';
import type { ConfigOf } from '../../src/notification/record.ts';
import type { AttemptOutcome } from '../../src/notification/rules/delivery.ts';
import type { Notice } from '../../src/notification/rules/notice.ts';
import type { OutboundHead } from '../../src/shared/ports/outbound.ts';
import { isSuccess, mayRetryStatus } from './answers.ts';
import { type ApiParts, callApi, idOf, limited, rejected } from './api.ts';
import { type Card, cardOf } from './card.ts';

export interface WorkspaceChatParts extends ApiParts {
  /** Without a slash at its end. */
  readonly workspaceChatUrl: string;
  /** Prefix of the ids of buttons. */
  readonly actionPrefix: string;
}

type Answer = { readonly [field: string]: unknown };

/** The platform reads mentions and links between angle brackets; entities keep them texts. */
const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });

/** Other people's texts stand in plain_text alone, where no markup is read. The hub's own link may have markup. */
function blocksOf(card: Card, actionPrefix: string, hasButtons = true): readonly object[] {
  const { title, facts, message, args, link, approvalId, decides } = card;
  const actionId = (action: string): string => `${actionPrefix}_${action}:${approvalId}`;
  const button = (action: 'approve' | 'deny', text: string, style: string) => ({
    type: 'button',
    action_id: actionId(action),
    text: plain(text),
    style,
  });
  const elements = [
    ...(decides === null || !hasButtons
      ? []
      : [button('approve', 'Approve', 'primary'), button('deny', 'Deny', 'danger')]),
    // The platform reports a press of a link as well, which has to name an approval.
    ...(link === null || approvalId === null
      ? []
      : [{ type: 'button', action_id: actionId('open'), text: plain('Open'), url: link }]),
  ];
  const linkText = link !== null && approvalId === null ? `<${escapeText(link)}|Open>` : null;
  return [
    { type: 'header', text: plain(title) },
    ...(facts.length === 0
      ? []
      : [{ type: 'section', fields: facts.map(([label, value]) => plain(`${label}\n${value}`)) }]),
    ...(message === null ? [] : [{ type: 'section', text: plain(message) }]),
    ...(args === null ? [] : [{ type: 'section', text: plain(args) }]),
    ...(linkText === null ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: linkText } }]),
    ...(elements.length === 0 ? [] : [{ type: 'actions', elements }]),
  ];
}

/** Shown where blocks are not: in notifications. */
const summaryOf = ({ title, facts }: Card): string =>
  escapeText([title, ...facts.slice(0, 2).map(([, value]) => value)].join(': '));

/** The answer to a press of a button: the message as it is from now on, or (null) that this person may not decide. */
export function workspaceChatReply(notice: Notice | null, actionPrefix: string): object {
  if (notice === null) {
    return {
      response_type: 'ephemeral',
      replace_original: false,
      text: 'You are not allowed to decide here.',
    };
  }
  const card = cardOf(notice);
  return { replace_original: true, text: summaryOf(card), blocks: blocksOf(card, actionPrefix) };
}

/** @throws OutboundError('aborted') */
export function sendWorkspaceChat(
  parts: WorkspaceChatParts,
  { webhookUrl }: ConfigOf<'workspaceChat'>,
  { notice, signal }: Sending,
): Promise<AttemptOutcome> {
  const card = cardOf(notice);
  const body = { text: summaryOf(card), blocks: blocksOf(card, parts.actionPrefix, false) };
  return callApi(parts, { url: webhookUrl, body, signal }, () => null);
}

/** Refusals that a later attempt may not get. */
const passing = new Set(['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout']);
/** The edit of an earlier attempt, or a message that somebody deleted: nothing is left to do. */
const settled = new Set(['message_not_found', 'cant_update_message', 'edit_window_closed']);

function read(isEdit: boolean) {
  return ({ ok, error, channel, ts }: Answer, { status, headers }: OutboundHead): AttemptOutcome | null => {
    if (ok === true) {
      if (!isSuccess(status)) return null;
      const [place, time] = [idOf(channel), idOf(ts)];
      return { kind: 'delivered', status, messageId: place && time ? `${place}:${time}` : null };
    }
    if (status === 429 || error === 'ratelimited') return limited(status, Number(headers.get('retry-after')));
    if (ok !== false || mayRetryStatus(status)) return null;
    if (typeof error === 'string' && passing.has(error)) {
      return { kind: 'failed', status, failure: 'status', mayRetry: true };
    }
    if (isEdit && typeof error === 'string' && settled.has(error)) {
      return { kind: 'delivered', status, messageId: null };
    }
    return rejected(status);
  };
}

/** @throws OutboundError('aborted') */
export function sendWorkspaceChatApp(
  parts: WorkspaceChatParts,
  { botToken, channel }: ConfigOf<'workspaceChatApp'>,
  { notice, signal }: Sending,
): Promise<AttemptOutcome> {
  const card = cardOf(notice);
  const content = { text: summaryOf(card), blocks: blocksOf(card, parts.actionPrefix) };
  const token = `Bearer ${botToken}`;
  const edited = notice.kind === 'decided' || notice.kind === 'expired' ? notice.messageId : null;
  const colon = edited?.indexOf(':') ?? -1;
  if (edited !== null && colon > 0) {
    const body = { channel: edited.slice(0, colon), ts: edited.slice(colon + 1), ...content };
    return callApi(parts, { url: `${parts.workspaceChatUrl}/chat.update`, token, body, signal }, read(true));
  }
  const body = { channel, unfurl_links: false, unfurl_media: false, ...content };
  return callApi(
    parts,
    { url: `${parts.workspaceChatUrl}/chat.postMessage`, token, body, signal },
    read(false),
  );
}
