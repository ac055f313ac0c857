// A proxy between the browser and a hub, as many hubs have one: it passes everything on, WebSocket too, and can make
// answers late or put its own in their place.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { freePort } from '../../bench/suite/free-port.ts';
import type { HubProcess } from '../e2e/process.ts';
import { reusePages } from './idle-pages.ts';

/** The fate of an answer. Milliseconds, a promise to wait for, or a status in place of the hub's answer. */
export type Rule =
  | { readonly ms: number }
  | { readonly until: Promise<void> }
  | { readonly status: number; readonly retryAfter?: number };

export interface Proxy {
  readonly url: string;
  /** For answers of the console API from now on; null passes all on at once. */
  rule: ((method: string, path: string) => Rule | null) | null;
  /** Lets nobody through, as a hub that is not there. */
  isShut: boolean;
  /** Holds what fits until the returned function is called. */
  hold(fits: (method: string, path: string) => boolean): () => void;
}

/** The text of this proxy's answers: the hub's own words of the status, or else those of a busy one. */
const own = (status: number): object => words[status] ?? busy;
const busy = { detail: 'The hub cannot take this now.', code: 'unavailable' };
const words: { readonly [status: number]: object } = {
  403: { detail: 'This needs the role admin.', code: 'forbidden' },
  409: { detail: 'The composition changed during the rollout.', code: 'conflict' },
  429: { detail: 'Too many requests. Wait a little.', code: 'rate_limited' },
};

/** The next file's proxy has the same origin, whose scripts the browser has compiled. */
let lastPort: number | undefined;

export async function proxyOf(hub: HubProcess): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const server = createServer((asked, answer) => void pass(asked, answer));
  const pass = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/' } = asked;
    if (proxy.isShut) {
      asked.destroy();
      return;
    }
    const rule = /^\/(api\/)?v1\//.test(path) ? (proxy.rule?.(method, path) ?? null) : null;
    if (rule && 'status' in rule) {
      const wait = rule.retryAfter === undefined ? {} : { 'Retry-After': String(rule.retryAfter) };
      asked.resume();
      answer
        .writeHead(rule.status, { 'Content-Type': 'application/json', ...wait })
        .end(JSON.stringify(own(rule.status)));
      return;
    }
    // Before the hub hears of it: no frame tells what the answer does not tell yet.
    if (rule) await ('ms' in rule ? after(rule.ms) : rule.until);
    // The client may have gone by now.
    if (answer.destroyed) return;
    const { headers } = asked;
    const passed = request({ host: '127.0.0.1', port: hub.port, method, path, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    // The hub is gone, or the browser is: the other one hears it.
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  };
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (asked: IncomingMessage, socket: Socket) => {
    if (proxy.isShut) {
      socket.destroy();
      return;
    }
    const hubSide = connect(hub.port, '127.0.0.1');
    const lines = [`${asked.method} ${asked.url} HTTP/1.1`];
    for (let at = 0; at < asked.rawHeaders.length; at += 2) {
      lines.push(`${asked.rawHeaders[at]}: ${asked.rawHeaders[at + 1]}`);
    }
    hubSide.write(`${lines.join('\r\n')}\r\n\r\n`);
    hubSide.pipe(socket).pipe(hubSide);
    hubSide.on('error', () => socket.destroy());
    hubSide.on('close', () => socket.destroy());
    socket.on('error', () => hubSide.destroy());
    socket.on('close', () => hubSide.destroy());
  });
  lastPort = await freePort(lastPort);
  await new Promise<void>((ready) => server.listen(lastPort, '127.0.0.1', ready));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const proxy: Proxy = {
    url: `http://127.0.0.1:${lastPort}`,
    rule: null,
    isShut: false,
    hold(fits) {
      let release = (): void => undefined;
      const until = new Promise<void>((done) => {
        release = done;
      });
      proxy.rule = (method, path) => (fits(method, path) ? { until } : null);
      return () => {
        proxy.rule = null;
        release();
      };
    },
  };
  reusePages(proxy.url);
  return proxy;
}
