// A mail server on loopback (RFC 5321) with STARTTLS (RFC 3207), AUTH PLAIN and LOGIN: what it was sent, and refusals
// that a test orders.
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { certificate, certificateKey } from '../certificate.ts';

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly data: string;
  readonly encrypted: boolean;
}

export interface MailServer {
  readonly port: number;
  readonly mails: Mail[];
  /** Lines that clients said, passwords among them. */
  readonly said: string[];
  /** Connections that clients opened so far, and those of them that are open. */
  readonly connections: number;
  readonly open: number;
  /** Answers these commands, by their verb or whole in capitals, with these lines instead. */
  readonly refusals: Map<string, string>;
  close(): Promise<void>;
}

export interface MailOptions {
  readonly startTls?: boolean;
  readonly password?: string;
  /** Milliseconds until a line is read. */
  readonly delayMs?: number;
}

export async function startMailServer(options: MailOptions = {}): Promise<MailServer> {
  const { startTls = true, password = 'a mail password', delayMs = 0 } = options;
  const mails: Mail[] = [];
  const said: string[] = [];
  const refusals = new Map<string, string>();
  const sockets = new Set<Socket>();
  let connections = 0;

  function serve(socket: Socket, encrypted: boolean, greet: boolean): void {
    let from = '';
    let to: string[] = [];
    let data: string[] | null = null;
    let rest = '';
    const say = (line: string): unknown => socket.write(`${line}\r\n`);
    if (greet) say('220 mail.example ESMTP');

    function take(line: string): unknown {
      if (data !== null) {
        if (line !== '.') return data.push(line.replace(/^\./, ''));
        mails.push({ from, to, data: data.join('\r\n'), encrypted });
        data = null;
        return say(refusals.get('.') ?? '250 2.0.0 queued as 1');
      }
      said.push(line);
      const [verb = ''] = line.toUpperCase().split(/[ :]/);
      const refusal = refusals.get(line.toUpperCase()) ?? refusals.get(verb);
      if (refusal !== undefined) return say(refusal);
      if (verb === 'EHLO') {
        const offers = [
          '250-mail.example',
          ...(startTls && !encrypted ? ['250-STARTTLS'] : []),
          '250-AUTH PLAIN',
        ];
        for (const offer of offers) say(offer);
        return say('250 SIZE 1000000');
      }
      if (verb === 'STARTTLS') {
        say('220 2.0.0 go ahead');
        socket.removeAllListeners('data');
        const secure = new TLSSocket(socket, { isServer: true, cert: certificate, key: certificateKey });
        secure.on('error', () => {});
        return serve(secure, true, false);
      }
      if (verb === 'AUTH') {
        const [, , secret = ''] = Buffer.from(line.split(' ')[2] ?? '', 'base64')
          .toString()
          .split('\0');
        return say(secret === password ? '235 2.7.0 accepted' : '535 5.7.8 credentials refused');
      }
      if (verb === 'MAIL') from = line;
      if (verb === 'RCPT') to = [...to, line];
      if (verb === 'DATA') {
        data = [];
        return say('354 go on');
      }
      if (verb === 'QUIT') {
        say('221 bye');
        return socket.end();
      }
      return say('250 2.1.0 ok');
    }

    socket.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) delayMs === 0 ? take(line) : setTimeout(take, delayMs, line);
    });
    socket.on('error', () => {});
  }

  const hold = (socket: Socket): void => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  };
  const server = createServer((socket) => {
    hold(socket);
    serve(socket, false, true);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    port: (server.address() as AddressInfo).port,
    mails,
    said,
    refusals,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
