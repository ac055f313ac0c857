// The HTTP and WebSocket server on uWebSockets.js: listens, hands requests to the pipeline, sends what it answers.
// Knows no route.

import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js';
import { connect } from 'node:net';
import { Admission, refusalOf } from '../../src/admission/admission.ts';
import { admissionTable } from '../../src/admission/table.ts';
import { canonicalAddress, networkOf } from '../../src/http/address.ts';
import { Connections } from '../../src/http/connections.ts';
import { refuseHandshake } from '../../src/http/framing.ts';
import type { IncomingBody } from '../../src/http/incoming-body.ts';
import type { RawRequest, RawResponse } from '../../src/http/raw.ts';
import { portTaken, type Server, type ServerOptions, sweepMs } from '../../src/http/server.ts';
import { incomingBody, Unfinished } from '../../src/http/unfinished.ts';
import { nextTurn } from '../../src/shared/concurrency/next-turn.ts';
import { HubError } from '../../src/shared/error.ts';
import { Exchange, isBlind, type SendOptions, watchAborted } from './exchange.ts';
import { loadUws } from './load.ts';
import { readsWholeChunks } from './next-frame.ts';
import { type CopiedRequest, copyRequest } from './request.ts';
import { addSockets, type Contexts, completeUpgrade, type Handshake } from './sockets.ts';

/** Over that, the connections of the network are cut. */
const [{ atOnce: maxBlind }] = admissionTable.emptyAnswers.bounds;

const noBody = (): Promise<Uint8Array> => Promise.resolve(new Uint8Array(0));

/** @throws Error when the native server does not load, or the port is taken */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { host, port, pipeline, clock, log } = options;
  const uws = await loadUws();
  const app = uws.App();
  const unfinished = new Unfinished<Exchange>({ clock, log });
  const admission = new Admission(clock);
  /** Blind answers since the last sweep, by network. */
  const blind = new Map<string, number>();
  let isDraining = false;
  const connections = new Connections(
    options.maxConnections ?? Number.POSITIVE_INFINITY,
    options.isProxy ?? (() => false),
  );

  /** Counts a blind answer. False: so many are not sent to one network. */
  function maySendBlind(network: string): boolean {
    const count = (blind.get(network) ?? 0) + 1;
    blind.set(network, count);
    return count <= maxBlind;
  }

  /**
   * The parser goes on with what follows in the same read unless an answer is still owed: then it drops the connection
   * instead. So a request whose end is in doubt is answered a turn later, and nothing smuggled behind it is ever
   * handled.
   */
  async function refuse(raw: RawRequest): Promise<RawResponse> {
    await nextTurn();
    return pipeline.handle(raw);
  }

  /** Null: the connection is a WebSocket by now. */
  async function shakeHands(
    res: HttpResponse,
    exchange: Exchange,
    raw: RawRequest,
    handshake: Handshake,
  ): Promise<RawResponse | null> {
    const response = await (raw.refused ? refuse(raw) : pipeline.handle(raw));
    if (!response.live || !exchange.open) return response;
    unfinished.forget(exchange);
    completeUpgrade(res, response, response.live, handshake, pipeline.budgets.partial);
    return null;
  }

  /** Handles one request; nothing thrown leaves it. `handshake` is null for plain HTTP. */
  function serve(
    res: HttpResponse,
    exchange: Exchange,
    raw: RawRequest,
    body: IncomingBody | null,
    handshake: Handshake | null,
  ): Promise<void> {
    const handle = (): Promise<RawResponse | null> => {
      if (handshake) return shakeHands(res, exchange, raw, handshake);
      return raw.refused ? refuse(raw) : pipeline.handle(raw);
    };
    return unfinished.serve(exchange, { raw, body, handle }, (response) => {
      const how: SendOptions = {
        head: raw.method === 'HEAD',
        close: response.close || (body !== null && !body.whole),
        last: isDraining,
        unsent: pipeline.budgets.unsent,
        wholeChunks: readsWholeChunks(raw.headers.get('user-agent')),
      };
      if (isBlind(response, how) && !maySendBlind(pipeline.networkOf(raw))) exchange.cut();
      else exchange.send(response, how);
    });
  }

  function start(
    res: HttpResponse,
    copied: CopiedRequest,
    exchange: Exchange,
    handshake: Handshake | null,
  ): void {
    const body = incomingBody(pipeline, copied);
    if (body) {
      exchange.reading(body);
      watchBody(res, body);
    }
    unfinished.began(exchange, body);
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
    if (body || raw.refused || !pipeline.isOpening(raw)) void serve(res, exchange, raw, body, handshake);
    else openLater(res, exchange, raw, handshake);
  }

  /** A function of its own: what its closure keeps is all that is kept of a request that waits. */
  function openLater(
    res: HttpResponse,
    exchange: Exchange,
    raw: RawRequest,
    handshake: Handshake | null,
  ): void {
    // Nobody has looked at the credential.
    const credential = raw.headers.get('authorization') ?? raw.headers.get('cookie') ?? '';
    admission.enter({ credential }, 'streamRequests', exchange, (permit) => {
      const admitted = permit ? raw : { ...raw, refused: refusalOf('streamRequests') };
      void serve(res, exchange, admitted, null, handshake).then(() => permit?.release());
    });
  }

  /** Everything that touches the request happens here, before any await. */
  function receive(res: HttpResponse, req: HttpRequest, contexts: Contexts | null): void {
    const exchange = new Exchange(res);
    watchAborted(res, exchange);
    try {
      const copied = copyRequest(res, req);
      const handshake = contexts && {
        key: req.getHeader('sec-websocket-key'),
        extensions: req.getHeader('sec-websocket-extensions'),
        contexts,
      };
      start(res, copied, exchange, handshake);
    } catch (error) {
      log.error({ err: error }, 'cannot read a request');
      exchange.cut();
    }
  }

  const sweep = clock.every(sweepMs, () => {
    blind.clear();
    unfinished.sweep(connections);
  });

  app.any('/*', (res, req) => receive(res, req, null));
  // The filter below hears of the connection's start only, once it became a WebSocket.
  addSockets(app, {
    disabledCompression: uws.DISABLED,
    partial: pipeline.budgets.partial,
    upgrade: receive,
    closed: () => connections.closed(),
  });
  const count = (res: HttpResponse, change: unknown): void => {
    if (Number(change) < 0) connections.closed();
    else if (!connections.opened(() => peerOf(res))) res.close();
  };
  app.filter(count);

  const listening =
    (await isFree(host, port)) &&
    (await new Promise<us_listen_socket | false>((resolve) => {
      // The typings leave the options out of this form.
      const listen = app.listen as unknown as (
        host: string,
        port: number,
        options: number,
        done: (socket: us_listen_socket | false) => void,
      ) => void;
      listen.call(app, host, port, 0, resolve);
    }));
  if (!listening) {
    sweep.cancel();
    app.close();
    throw new HubError('unavailable', portTaken(host, port));
  }
  let socket: us_listen_socket | null = listening;
  const drain = (): void => {
    isDraining = true;
  };
  const stopListening = (): void => {
    drain();
    if (socket) uws.us_listen_socket_close(socket);
    socket = null;
  };
  return {
    port: uws.us_socket_local_port(listening),
    connections: () => connections.count,
    drain,
    stopListening,
    settle: (ms) => unfinished.settle(ms),
    close() {
      stopListening();
      sweep.cancel();
      app.close();
    },
  };
}

/** Who is at the other end of a connection that has just been opened. */
function peerOf(res: HttpResponse): { readonly address: string; readonly network: string } {
  const text = Buffer.from(res.getRemoteAddressAsText()).toString();
  const address = canonicalAddress(text) ?? text;
  return { address, network: networkOf(address) };
}

function watchBody(res: HttpResponse, body: IncomingBody): void {
  res.onData((chunk, isLast) => body.push(chunk, isLast));
}

/**
 * True when nothing answers there. The native server would share a port that another one listens on; its exclusive
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
