// E-mail: encrypted by STARTTLS, escaped, with a link to the approval; what servers refuse, and at which address they
// are called.
import { afterEach, describe, expect, it } from 'vitest';
import { encryptionOf, sendEmail } from '../../../adapters/messengers/email.ts';
import { systemClock } from '../../../adapters/node/clock.ts';
import type { ConfigOf } from '../../../src/notification/record.ts';
import type { Notice } from '../../../src/notification/rules/notice.ts';
import { OutboundError } from '../../../src/shared/outbound.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import { certificate } from '../../certificate.ts';
import { anApproval } from '../../conformance/fixtures.ts';
import { type MailOptions, type MailServer, startMailServer } from '../../platforms/smtp.ts';

let server: MailServer | undefined;
afterEach(() => server?.close());

const configOf = (port: number, over: Partial<ConfigOf<'email'>> = {}): ConfigOf<'email'> => ({
  kind: 'email',
  smtpHost: 'smtp.example',
  smtpPort: port,
  smtpUser: 'mailer',
  smtpPassword: 'a mail password',
  fromAddress: 'Reeve <reeve@example.com>',
  toAddresses: ['ann@example.com', 'bob@example.com'],
  ...over,
});
const link = 'https://hub.example/dashboard/approvals?id=7&x=1';
const asked = (over = {}): Notice => ({ kind: 'requested', approval: anApproval(over), link });

async function send(
  options: MailOptions = {},
  notice: Notice = asked(),
  over: Partial<ConfigOf<'email'>> = {},
  more: { ca?: string; signal?: AbortSignal; address?: string; clock?: Pick<Clock, 'after'> } = {},
) {
  server ??= await startMailServer(options);
  const address = more.address ?? '127.0.0.1';
  return sendEmail(
    {
      outbound: { resolve: async () => [{ address, family: 4 }] },
      clock: more.clock ?? systemClock,
      ca: more.ca ?? certificate,
    },
    configOf(server.port, over),
    {
      config: configOf(server.port, over),
      notice,
      payloadStyle: 'console',
      deliveryId: '11111111-1111-4111-8111-111111111111',
      ...(more.signal ? { signal: more.signal } : {}),
    },
  );
}
afterEach(() => {
  server = undefined;
});

/** The parts of a message, decoded. */
function textOf(data: string): string {
  return data
    .replace(/=\r\n/g, '')
    .replace(/((?:=[0-9A-F]{2})+)/g, (hex) => Buffer.from(hex.replaceAll('=', ''), 'hex').toString());
}

describe('a mail', () => {
  it('is encrypted, signed in, and goes to all, with a link and the texts escaped', async () => {
    const outcome = await send({}, asked({ toolName: '<b>rm</b>', message: '<script>"&' }));
    expect(outcome).toEqual({ kind: 'delivered', status: 250, messageId: null });
    const [mail] = server?.mails ?? [];
    expect(mail?.encrypted).toBe(true);
    expect(mail?.to.join()).toContain('<ann@example.com>');
    expect(mail?.to.join()).toContain('<bob@example.com>');
    expect(server?.said.findIndex((line) => line.startsWith('AUTH'))).toBeGreaterThan(
      server?.said.indexOf('STARTTLS') ?? 99,
    );
    const text = textOf(mail?.data ?? '');
    const html = text.slice(text.indexOf('text/html'));
    expect(html).toContain('&lt;b&gt;rm&lt;/b&gt;');
    expect(html).toContain('&lt;script&gt;&quot;&amp;');
    expect(html).not.toContain('<script>');
    expect(html).toContain('href="https://hub.example/dashboard/approvals?id=7&amp;x=1"');
    expect(text).toContain('Message-ID: <11111111-1111-4111-8111-111111111111@reeve>');
  });

  it('has a subject of one line, whatever an agent is called', async () => {
    await send({}, asked({ agentId: 'a\r\nBcc: eve@example.com\r\n\r\nx' }));
    const head = server?.mails[0]?.data.split('\r\n\r\n')[0] ?? '';
    expect(head).toMatch(/^Subject: Approval requested: a Bcc: eve@example.com x/m);
    expect(head).not.toMatch(/^Bcc:/m);
    expect(server?.mails[0]?.to.join()).not.toContain('eve');
  });

  it.each([
    [465, '203.0.113.1', { secure: true, requireTLS: false }],
    [587, '203.0.113.1', { secure: false, requireTLS: true }],
    [25, '10.0.0.1', { secure: false, requireTLS: true }],
    [1025, '127.0.0.1', { secure: false, requireTLS: false }],
  ])('to port %i of %s is encrypted as it must be', (port, address, options) => {
    expect(encryptionOf(port, { address, family: 4 })).toEqual(options);
  });

  it('may go plainly to a catcher on this machine', async () => {
    expect(await send({ startTls: false })).toMatchObject({ kind: 'delivered' });
    expect(server?.mails[0]?.encrypted).toBe(false);
  });

  it('is not sent to a server whose certificate is of another name', async () => {
    const outcome = await send({}, asked(), { smtpHost: 'other.example' });
    expect(outcome).toMatchObject({ kind: 'failed' });
    expect(server?.said.some((line) => line.startsWith('AUTH'))).toBe(false);
  });

  it.each([
    ['a wrong password', 'AUTH', '535 5.7.8 no', 'rejected', false],
    ['an unknown sender', 'MAIL', '550 5.1.0 no', 'rejected', false],
    ['a busy server', 'MAIL', '451 4.3.0 later', 'status', true],
    ['a full mailbox', '.', '452 4.2.2 full', 'status', true],
    ['a refused text', '.', '554 5.7.1 spam', 'rejected', false],
  ])('that meets %s is told as what it is', async (_what, verb, line, failure, mayRetry) => {
    server = await startMailServer();
    server.refusals.set(verb, line);
    expect(await send()).toEqual({ kind: 'failed', status: Number(line.slice(0, 3)), failure, mayRetry });
  });

  it('that finds nobody there may be sent later', async () => {
    server = await startMailServer();
    await server.close();
    expect(await send()).toMatchObject({ failure: 'connection', mayRetry: true });
  });

  it('ends with its signal', async () => {
    server = await startMailServer();
    const caller = new AbortController();
    server.refusals.set('EHLO', '');
    const sent = send({}, asked(), {}, { signal: caller.signal });
    await expect.poll(() => server?.said.length).toBeGreaterThan(0);
    caller.abort();
    await expect(sent).rejects.toThrow(OutboundError);
    await expect.poll(() => server?.open).toBe(0);
  });

  it('ends its only connection at the time limit, so that a slow server accepts no copies', async () => {
    // 10 s and 2 s, fifty times as fast.
    const clock = { after: (ms: number, task: () => void) => systemClock.after(ms / 50, task) };
    server = await startMailServer({ delayMs: 40 });
    expect(await send({}, asked(), {}, { clock })).toEqual({
      kind: 'failed',
      status: null,
      failure: 'timeout',
      mayRetry: true,
    });
    await expect.poll(() => server?.open, { timeout: 100, interval: 5 }).toBe(0);
    expect(server.connections).toBe(1);
    expect(server.said).not.toContain('DATA');
    expect(server.mails).toEqual([]);
  });

  it('of which some addresses are refused is delivered to the others, and says which were refused', async () => {
    server = await startMailServer();
    server.refusals.set('RCPT TO:<BOB@EXAMPLE.COM>', '550 5.1.1 no such user');
    expect(await send()).toEqual({
      kind: 'delivered',
      status: 250,
      messageId: null,
      refused: ['bob@example.com'],
    });
    expect(server.mails).toHaveLength(1);
  });
});
