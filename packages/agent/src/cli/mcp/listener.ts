// The proxy for agents that speak streamable HTTP: one address for both eras. A legacy agent introduces itself and gets
// a session with a server of its own; modern requests need none, and share a server.
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Timer } from '../../clock.ts';
import { UsageError } from '../command.ts';
import { modernMessageOf, Refusal } from './admission.ts';
import { HttpSession } from './http-session.ts';
import {
  codes,
  type Message,
  MessageError,
  maxMessage,
  type Notification,
  type Request,
  readMessages,
} from './message.ts';
import { ModernHttp } from './modern-http.ts';
import type { ProxyParts } from './proxy-parts.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Agents send it as a bearer token; null: none. */
  readonly token: string | null;
}

const maxSessions = 100;
/** Milliseconds without a request or an open response after which a session ends, even with unanswered requests. */
const idleLimit = 30 * 60_000;
const loopback = ['127.0.0.1', '::1', 'localhost'];

/** @throws UsageError */
export function listenAddress(text: string, token: string | undefined): ListenAddress {
  const [, bracketed, plain, digits = ''] =
    /^(?:(?:\[([0-9a-fA-F:]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? '127.0.0.1';
  const port = Number(digits);
  if (digits === '' || port > 65_535) throw new UsageError('--listen must be PORT or HOST:PORT');
  if (!loopback.includes(host) && !token) {
    throw new UsageError(`--listen ${host}: set REEVE_MCP_TOKEN, which agents of other machines then send`);
  }
  return { host, port, token: token ? token : null };
}

export class McpListener {
  readonly #proxy: ProxyParts;
  readonly #address: ListenAddress;
  readonly #server: Server;
  readonly #sessions = new Map<string, { readonly session: HttpSession; lastUse: number }>();
  readonly #modern: ModernHttp;
  #sweep: Timer | null = null;

  constructor(proxy: ProxyParts, address: ListenAddress) {
    this.#proxy = proxy;
    this.#address = address;
    const { token } = address;
    this.#modern = new ModernHttp(
      proxy,
      token === null ? 'listener' : `token ${digest(token).toString('hex')}`,
    );
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((failure: unknown) => {
        if (failure instanceof Refusal) return refuse(response, failure);
        proxy.writeLog(failure instanceof Error ? failure.message : String(failure));
        refuse(response, new Refusal(500, codes.internal, 'internal error'));
      });
    });
  }

  /** @returns the port @throws Error when it cannot be had */
  async start(): Promise<number> {
    const { host, port } = this.#address;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    this.#sweepLater();
    this.#modern.start();
    return (this.#server.address() as AddressInfo).port;
  }

  toolsChanged(): void {
    for (const { session } of this.#sessions.values()) session.toolsChanged();
    this.#modern.toolsChanged();
  }

  async close(): Promise<void> {
    this.#sweep?.cancel();
    const stopped = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await Promise.all([this.#modern.close(), ...[...this.#sessions.keys()].map((id) => this.#end(id))]);
    this.#server.closeAllConnections();
    await stopped;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#admit(request);
    const { pathname } = new URL(request.url ?? '/', 'http://proxy');
    if (pathname !== '/mcp') throw new Refusal(404, codes.invalid, 'the path is /mcp');
    if (request.method === 'POST') return this.#post(request, response);
    const session = this.#sessionOf(request);
    if (request.method === 'GET') {
      if (!accepts(request, 'text/event-stream'))
        throw new Refusal(406, codes.invalid, 'accept text/event-stream');
      return session.session.listen(response);
    }
    if (request.method !== 'DELETE') throw new Refusal(405, codes.invalid, 'POST, GET or DELETE');
    await this.#end(session.session.id);
    response.writeHead(200).end();
  }

  /**
   * A page in a browser must not reach a proxy on the same machine under another name, and strangers need the token.
   */
  #admit({ headers }: IncomingMessage): void {
    const { host, token } = this.#address;
    const hostOf = (address: string): string => new URL(address).hostname.replace(/^\[|\]$/g, '');
    const { origin } = headers;
    // Its own page is the only one that may ask.
    const isForeign = origin !== undefined && !loopback.includes(host) && !isOriginOf(origin, headers.host);
    if (isForeign) throw new Refusal(403, codes.invalid, `requests of ${origin} are refused`);
    if (loopback.includes(host)) {
      const localOrigins = [
        `http://${headers.host ?? ''}`,
        ...(headers.origin === undefined ? [] : [headers.origin]),
      ];
      const foreign = localOrigins.some(
        (address) => !URL.canParse(address) || !loopback.includes(hostOf(address)),
      );
      if (foreign)
        throw new Refusal(403, codes.invalid, 'this proxy accepts only the host names of this machine');
    }
    if (token === null) return;
    const sent = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    if (!timingSafeEqual(digest(sent), digest(token))) {
      throw new Refusal(401, codes.invalid, 'send REEVE_MCP_TOKEN as a bearer token');
    }
  }

  #sessionOf({ headers }: IncomingMessage): { readonly session: HttpSession; lastUse: number } {
    const id = headers['mcp-session-id'];
    if (typeof id !== 'string') throw new Refusal(400, codes.invalid, 'Mcp-Session-Id is missing');
    const session = this.#sessions.get(id);
    if (!session) throw new Refusal(404, codes.invalid, 'the session does not exist: initialize again');
    session.lastUse = this.#proxy.clock.monotonic();
    return session;
  }

  async #post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(request);
    let messages: Message[];
    try {
      messages = readMessages(text);
    } catch (failure) {
      if (!(failure instanceof MessageError)) throw failure;
      throw new Refusal(400, failure.code, failure.message, failure.id);
    }
    const modern = modernMessageOf(messages, request.headers);
    if (modern) return this.#postModern(modern, request, response);
    const [first] = messages;
    const greets = first?.kind === 'request' && first.method === 'initialize';
    const { session } = greets ? this.#begin() : this.#sessionOf(request);
    session.post(messages, response);
  }

  async #postModern(
    message: Request | Notification,
    { headers }: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if (type !== 'application/json')
      throw new Refusal(415, codes.invalid, 'Content-Type must be application/json');
    // The revision has no notifications of clients over HTTP: nothing follows from one.
    if (message.kind === 'notification') return void response.writeHead(202).end();
    await this.#modern.post(message, headers, response);
  }

  #begin(): { readonly session: HttpSession } {
    if (this.#sessions.size >= maxSessions)
      throw new Refusal(503, codes.server, `${maxSessions} sessions are open`);
    const id = randomUUID();
    const session = new HttpSession(id, this.#proxy, () => void this.#end(id));
    this.#sessions.set(id, { session, lastUse: this.#proxy.clock.monotonic() });
    return { session };
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.session.close();
  }

  #sweepLater(): void {
    this.#sweep = this.#proxy.clock.after(60_000, () => {
      const before = this.#proxy.clock.monotonic() - idleLimit;
      for (const [id, { session, lastUse }] of this.#sessions) {
        if (Math.max(lastUse, session.lastOpen) >= before) continue;
        this.#sessions.delete(id);
        void session.expire();
      }
      this.#sweepLater();
    });
  }
}

const isOriginOf = (origin: string, host: string | undefined): boolean =>
  URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const accepts = ({ headers }: IncomingMessage, type: string): boolean =>
  /\*\/\*/.test(headers.accept ?? '*/*') || (headers.accept ?? '').includes(type);

function refuse(response: ServerResponse, { status, code, message, id, data }: Refusal): void {
  if (response.headersSent) return void response.destroy();
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  response.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close', ...challenge });
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += (part as Buffer).length;
    if (size > maxMessage)
      throw new Refusal(413, codes.invalid, `a message is larger than ${maxMessage} bytes`);
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString('utf8');
}
