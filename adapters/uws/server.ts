// The HTTP and WebSocket server on uWebSockets.js: listens, hands requests to the pipeline, sends what it answers.
// Knows no route.

import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { connect } from 'node:net';
import { type Admission, refusalOf } from '../../src/admission/admission.ts';
import { canonicalAddress, networkOf } from '../../src/http/address.ts';
import { Connections } from '../../src/http/connections.ts';
import { EmptyAnswers, isEmptyAnswer } from '../../src/http/empty-answers.ts';
import { refuseHandshake } from '../../src/http/framing.ts';
import type { IncomingBody } from '../../src/http/incoming-body.ts';
import type { Pipeline } from '../../src/http/pipeline.ts';
import type { RawRequest, RawResponse } from '../../src/http/raw.ts';
import { portTaken, type Server, type ServerOptions, sweepMs } from '../../src/http/server.ts';
import { incomingBody, Unfinished } from '../../src/http/unfinished.ts';
import { nextTurn } from '../../src/shared/concurrency/next-turn.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Timer } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { Exchange, type SendOptions, watchAborted } from './exchange.ts';
import { loadUws } from './load.ts';
import { readsWholeChunks } from './next-frame.ts';
import { type CopiedRequest, copyRequest } from './request.ts';
import { addSockets, type Contexts, completeUpgrade, type Handshake } from './sockets.ts';

type Uws = Awaited<ReturnType<typeof loadUws>>;

/** As many connections wait in all as the kernel's own default allows one socket: 4,096. */
const acceptQueues = 8;

const noBody = (): Promise<Uint8Array> => Promise.resolve(new Uint8Array(0));

class UwsServer implements Server {
  readonly #uws: Uws;
  readonly #host: string;
  readonly #port: number;
  readonly #pipeline: Pipeline;
  readonly #log: Log;
  readonly #app: TemplatedApp;
  readonly #unfinished: Unfinished<Exchange>;
  readonly #admission: Admission;
  readonly #emptyAnswers = new EmptyAnswers();
  #isDraining = false;
  readonly #connections: Connections;
  readonly #sweep: Timer;
  #listening: readonly us_listen_socket[] = [];
  #boundPort = 0;

  constructor(options: ServerOptions, uws: Uws) {
    this.#uws = uws;
    const { host, port, pipeline, clock, log } = options;
    this.#host = host;
    this.#port = port;
    this.#pipeline = pipeline;
    this.#log = log;
    this.#app = uws.App();
    this.#unfinished = new Unfinished<Exchange>({ clock, log });
    this.#admission = pipeline.admission;
    this.#connections = new Connections(
      options.maxConnections ?? Number.POSITIVE_INFINITY,
      options.isProxy ?? (() => false),
    );
    this.#sweep = clock.every(sweepMs, () => {
      this.#emptyAnswers.sweep();
      this.#unfinished.sweep(this.#connections);
    });
    this.#app.any('/*', (res, req) => this.#receive(res, req, null));
    // The filter below is called for the connection's start only, once it became a WebSocket.
    addSockets(this.#app, {
      disabledCompression: uws.DISABLED,
      partial: pipeline.budgets.partial,
      upgrade: (res, req, contexts) => this.#receive(res, req, contexts),
      closed: () => this.#connections.closed(),
    });
    this.#app.filter((res, change) => this.#count(res, change));
  }

  /** @throws HubError unavailable when the port is taken */
  async listen(): Promise<void> {
    const socket =
      (await isFree(this.#host, this.#port)) && (await listenOn(this.#app, this.#host, this.#port));
    if (!socket) {
      this.#sweep.cancel();
      this.#app.close();
      throw new HubError('unavailable', portTaken(this.#host, this.#port));
    }
    this.#boundPort = this.#uws.us_socket_local_port(socket);
    this.#listening = [socket, ...(await sharePort(this.#app, this.#host, this.#port))];
  }

  drain(): void {
    this.#isDraining = true;
  }

  stopListening(): void {
    this.drain();
    for (const socket of this.#listening) this.#uws.us_listen_socket_close(socket);
    this.#listening = [];
  }

  get port(): number {
    return this.#boundPort;
  }

  connections(): number {
    return this.#connections.count;
  }

  settle(ms: number): Promise<void> {
    return this.#unfinished.settle(ms);
  }

  close(): void {
    this.stopListening();
    this.#sweep.cancel();
    this.#app.close();
  }

  /** @param change the difference in open connections */
  #count(res: HttpResponse, change: unknown): void {
    if (Number(change) < 0) this.#connections.closed();
    else if (!this.#connections.opened(() => peerOf(res))) res.close();
  }

  /**
   * The parser goes on with what follows in the same read unless an answer is still owed: then it drops the connection
   * instead. So a request whose end is in doubt is answered a turn later, and nothing smuggled behind it is ever
   * handled.
   */
  async #refuse(raw: RawRequest): Promise<RawResponse> {
    await nextTurn();
    return this.#pipeline.handle(raw);
  }

  /** Null: the connection is a WebSocket by now. */
  async #shakeHands(
    res: HttpResponse,
    exchange: Exchange,
    raw: RawRequest,
    handshake: Handshake,
  ): Promise<RawResponse | null> {
    const response = await (raw.refused ? this.#refuse(raw) : this.#pipeline.handle(raw));
    if (!response.live || !exchange.open) return response;
    this.#unfinished.forget(exchange);
    completeUpgrade(res, response, response.live, handshake, this.#pipeline.budgets.partial);
    return null;
  }

  /** Handles one request; nothing thrown leaves it. `handshake` is null for plain HTTP. */
  #serve(
    res: HttpResponse,
    exchange: Exchange,
    raw: RawRequest,
    body: IncomingBody | null,
    handshake: Handshake | null,
  ): Promise<void> {
    const handle = (): Promise<RawResponse | null> => {
      if (handshake) return this.#shakeHands(res, exchange, raw, handshake);
      return raw.refused ? this.#refuse(raw) : this.#pipeline.handle(raw);
    };
    return this.#unfinished.serve(exchange, { raw, body, handle }, (response) => {
      const how: SendOptions = {
        head: raw.method === 'HEAD',
        close: response.close || (body !== null && !body.whole),
        last: this.#isDraining,
        unsent: this.#pipeline.budgets.unsent,
        wholeChunks: readsWholeChunks(raw.headers.get('user-agent')),
      };
      if (isEmptyAnswer(response, how) && !this.#emptyAnswers.admit(this.#pipeline.networkOf(raw)))
        exchange.cut();
      else exchange.send(response, how);
    });
  }

  #start(res: HttpResponse, copied: CopiedRequest, exchange: Exchange, handshake: Handshake | null): void {
    const body = incomingBody(this.#pipeline, copied);
    if (body) {
      exchange.reading(body);
      watchBody(res, body);
    }
    this.#unfinished.began(exchange, body);
    const { method, path, query, headers, remote } = copied;
    const raw: RawRequest = {
      method,
      path,
      query,
      headers,
      remote,
      refused: copied.refused ?? (handshake && refuseHandshake(copied.headers)),
      upgrade: handshake !== null,
      body: body ? () => body.read() : noBody,
    };
    if (body || raw.refused || !this.#pipeline.isOpening(raw))
      void this.#serve(res, exchange, raw, body, handshake);
    else this.#openLater(res, exchange, raw, handshake);
  }

  /** A function of its own: its closure keeps all that is kept of a waiting request. */
  #openLater(res: HttpResponse, exchange: Exchange, raw: RawRequest, handshake: Handshake | null): void {
    // Nobody has looked at the credential.
    const credential = raw.headers.get('authorization') ?? raw.headers.get('cookie') ?? '';
    this.#admission.enter({ credential }, 'streamRequests', exchange, (permit) => {
      const admitted = permit ? raw : { ...raw, refused: refusalOf('streamRequests') };
      void this.#serve(res, exchange, admitted, null, handshake).then(() => permit?.release());
    });
  }

  /** Everything that touches the request happens here, before any await. */
  #receive(res: HttpResponse, req: HttpRequest, contexts: Contexts | null): void {
    const exchange = new Exchange(res);
    watchAborted(res, exchange);
    try {
      const copied = copyRequest(res, req);
      const handshake = contexts && {
        key: req.getHeader('sec-websocket-key'),
        extensions: req.getHeader('sec-websocket-extensions'),
        contexts,
      };
      this.#start(res, copied, exchange, handshake);
    } catch (error) {
      this.#log.error({ err: error }, 'cannot read a request');
      exchange.cut();
    }
  }
}

/** @throws Error when the native server does not load, or the port is taken */
export async function startServer(options: ServerOptions): Promise<Server> {
  const server = new UwsServer(options, await loadUws());
  await server.listen();
  return server;
}

function listenOn(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket | false> {
  return new Promise((resolve) => {
    // The typings leave the options out of this form.
    const listen = app.listen as unknown as (
      host: string,
      port: number,
      options: number,
      done: (socket: us_listen_socket | false) => void,
    ) => void;
    listen.call(app, host, port, 0, resolve);
  });
}

/**
 * More sockets that listen on a port of this process. The native server gives each a queue of 512 connections that wait
 * to be accepted. When thousands of agents connect at once, the kernel drops the handshakes beyond, and their clients
 * repeat them after 1 s, 3 s, 7 s. A port that the system chose is not shared, nor is any where systems refuse it.
 */
async function sharePort(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket[]> {
  const sockets: us_listen_socket[] = [];
  while (port !== 0 && sockets.length + 1 < acceptQueues) {
    const socket = await listenOn(app, host, port);
    if (!socket) break;
    sockets.push(socket);
  }
  return sockets;
}

/** Peer of a connection that has just been opened. */
function peerOf(res: HttpResponse): { readonly address: string; readonly network: string } {
  const text = Buffer.from(res.getRemoteAddressAsText()).toString();
  const address = canonicalAddress(text) ?? text;
  return { address, network: networkOf(address) };
}

function watchBody(res: HttpResponse, body: IncomingBody): void {
  res.onData((chunk, isLast) => body.push(chunk, isLast));
}

/**
 * True when nothing answers there. The native server would share a port that another one listens on. Its exclusive
 * option would not, but then refuses a port for a minute after a crash, because old connections wait there.
 */
function isFree(host: string, port: number): Promise<boolean> {
  if (port === 0) return Promise.resolve(true);
  const target = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return new Promise((resolve) => {
    const probe = connect({ host: target, port, timeout: 1000 });
    const done = (free: boolean) => () => {
      probe.destroy();
      resolve(free);
    };
    probe.once('connect', done(false)).once('error', done(true)).once('timeout', done(true));
  });
}
