// E-mail by SMTP with nodemailer: STARTTLS, or TLS from the start on port 465. The server is called at an address that
// was judged.

import type { Sending } from '../../src/notification/port/messengers.ts';
import type { ConfigOf } from '../../src/notification/record.ts';
import type { AttemptOutcome } from '../../src/notification/rules/delivery.ts';
import { OutboundError } from '../../src/shared/outbound.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Outbound, OutboundAddress } from '../../src/shared/ports/outbound.ts';
import { attemptMs, outcomeOfError } from './answers.ts';
import { type Card, cardOf, plainLines } from './card.ts';

export interface EmailParts {
  readonly outbound: Pick<Outbound, 'resolve'>;
  readonly clock: Pick<Clock, 'after'>;
  /** Certificates that are trusted instead of the system's, PEM. */
  readonly ca?: string | undefined;
}

const implicitTlsPort = 465;

const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

function htmlOf({ title, facts, message, args, link }: Card): string {
  const rows = facts.map(
    ([label, value]) => `<tr><td><b>${escapeHtml(label)}</b></td><td>${escapeHtml(value)}</td></tr>`,
  );
  return [
    `<h2>${escapeHtml(title)}</h2>`,
    ...(rows.length === 0 ? [] : [`<table>${rows.join('')}</table>`]),
    ...(message === null ? [] : [`<p style="white-space: pre-wrap">${escapeHtml(message)}</p>`]),
    ...(args === null ? [] : [`<pre>${escapeHtml(args)}</pre>`]),
    ...(link === null ? [] : [`<p><a href="${escapeHtml(link)}">Open in the console</a></p>`]),
  ].join('\n');
}

/** One line, without anything that could begin another header, and without the symbols that stand for it. */
function subjectOf({ title, facts }: Card): string {
  const about = facts.slice(0, 2).map(([, value]) => value);
  return [title, ...about]
    .join(': ')
    .replace(/[\p{Cc}\u2400-\u2421]+/gu, ' ')
    .slice(0, 200);
}

/** Outcome of an error from the server, or from the connection to it. */
function outcomeOfSmtp(error: unknown): AttemptOutcome {
  const { responseCode, code } = error as { readonly responseCode?: number; readonly code?: string };
  if (responseCode !== undefined) {
    const passes = responseCode >= 400 && responseCode < 500;
    return {
      kind: 'failed',
      status: responseCode,
      failure: passes ? 'status' : 'rejected',
      mayRetry: passes,
    };
  }
  // A server that will not encrypt, or refuses who we are, does so again.
  const isFinal = code === 'EAUTH' || code === 'EENVELOPE' || code === 'ETLS';
  const failure = isFinal ? 'rejected' : code === 'ETIMEDOUT' ? 'timeout' : 'connection';
  return { kind: 'failed', status: null, failure, mayRetry: !isFinal };
}

const isLoopback = ({ address }: OutboundAddress): boolean => address === '::1' || address.startsWith('127.');

/**
 * TLS from the start, or by STARTTLS. Mail to a catcher on this machine may be plain; mail that leaves it is encrypted.
 */
export const encryptionOf = (port: number, address: OutboundAddress) => ({
  secure: port === implicitTlsPort,
  requireTLS: port !== implicitTlsPort && !isLoopback(address),
});

/** Sends the mail; the signal destroys the connection. @throws errors of nodemailer */
async function sendTo(
  target: OutboundAddress,
  { ca }: EmailParts,
  config: ConfigOf<'email'>,
  { notice, deliveryId }: Sending,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const { smtpHost, smtpPort, smtpUser, smtpPassword } = config;
  const card = cardOf(notice);
  // Few hubs send e-mail: loaded with the first.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    host: target.address,
    port: smtpPort,
    ...encryptionOf(smtpPort, target),
    tls: { servername: smtpHost, ...(ca === undefined ? {} : { ca }) },
    ...(smtpUser === '' ? {} : { auth: { user: smtpUser, pass: smtpPassword } }),
    connectionTimeout: attemptMs,
    greetingTimeout: attemptMs,
    socketTimeout: attemptMs,
    // A connection that ends sends nothing more, also not what is buffered.
    socketCloseTimeout: 0,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const { rejected: refused } = await transport.sendMail({
    from: config.fromAddress,
    to: [...config.toAddresses],
    subject: subjectOf(card),
    text: plainLines(card).join('\n'),
    html: htmlOf(card),
    messageId: `<${deliveryId}@reeve>`,
    signal,
  });
  return { kind: 'delivered', status: 250, messageId: null, ...(refused.length === 0 ? {} : { refused }) };
}

/** @throws OutboundError('aborted') */
export async function sendEmail(
  parts: EmailParts,
  config: ConfigOf<'email'>,
  sending: Sending,
): Promise<AttemptOutcome> {
  const { outbound, clock } = parts;
  const { signal } = sending;
  const late = new AbortController();
  const timer = clock.after(attemptMs, () => late.abort());
  const end = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  try {
    let address: OutboundAddress | undefined;
    try {
      [address] = await outbound.resolve(config.smtpHost, config.smtpPort);
    } catch (error) {
      return outcomeOfError(error);
    }
    if (!address) return { kind: 'failed', status: null, failure: 'unresolved', mayRetry: true };
    return await sendTo(address, parts, config, sending, end);
  } catch (error) {
    if (signal?.aborted) throw new OutboundError('aborted');
    return late.signal.aborted ? outcomeOfError(new OutboundError('timeout')) : outcomeOfSmtp(error);
  } finally {
    timer.cancel();
  }
}
