// A modern client before a legacy server. The handshake is the proxy's. A request from the server to its client ends
// the client's request for now (`input_required`). The call stays open at the server until the retry.

import { type Fields, fieldsOf, without } from '../../fields.ts';
import {
  clientCapabilitiesKey,
  legacyParams,
  logLevelKey,
  modernResult,
  modernVersion,
  serverInfoKey,
} from './era.ts';
import { HeldCalls, type OpenCall } from './held-calls.ts';
import { Listens } from './listens.ts';
import {
  codes,
  failureOf,
  type Id,
  type Message,
  type Notification,
  type Request,
  type Response,
} from './message.ts';
import {
  inputMethods,
  methodMissing,
  missingCapability,
  notification,
  request,
  resultOf,
  serverCapabilitiesOf,
  type Translation,
  type Wire,
} from './translation.ts';

/** Requests that the modern revision does not have. */
const removedMethods = [
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
];
/** Notifications that the modern revision has, beside changes of lists. */
const keptNotifications = ['notifications/message', 'notifications/resources/updated'];
/** Code of older revisions for a resource that does not exist. */
const resourceMissing = -32_002;

export class LegacyServer implements Translation {
  readonly #wire: Wire;
  readonly #introduction: Fields;
  readonly #listens: Listens;
  readonly #held: HeldCalls;
  /** Calls at the server, by their ids there. */
  readonly #calls = new Map<Id, OpenCall>();
  readonly #subscribed = new Set<string>();
  #logLevel: unknown = null;
  #count = 0;

  /** @param introduction the server's answer to `initialize` */
  constructor(wire: Wire, introduction: Fields) {
    this.#wire = wire;
    this.#introduction = introduction;
    this.#listens = new Listens(wire);
    this.#held = new HeldCalls(wire, (call) => this.#abandon(call));
  }

  fromClient(message: Message): void {
    if (message.kind === 'request') this.#requested(message);
    else if (message.kind === 'notification') this.#notified(message);
  }

  fromServer(message: Message, related: Id | null): void {
    if (message.kind === 'response') this.#answered(message);
    else if (message.kind === 'request') this.#askClient(message, related);
    else this.#notifyClient(message, related);
  }

  restarted(): void {
    this.#logLevel = null;
    this.#subscribed.clear();
    this.#follow();
  }

  get hasHeldCalls(): boolean {
    return this.#held.size > 0;
  }

  close(): void {
    this.#held.close();
  }

  #requested(sent: Request): void {
    const { id, method, params } = sent;
    const { toClient } = this.#wire;
    if (method === 'server/discover') return void toClient(resultOf(id, this.#discovery), id);
    if (removedMethods.includes(method)) return void toClient(methodMissing(id, method), id);
    if (method === 'subscriptions/listen') {
      this.#listens.listen(sent, fieldsOf(this.#introduction.capabilities));
      return void this.#follow();
    }
    if (params.inputResponses !== undefined || params.requestState !== undefined)
      return void this.#retried(sent);
    this.#setLogLevel(fieldsOf(params._meta)[logLevelKey]);
    this.#count += 1;
    const upstreamId = `reeve:call:${this.#count}`;
    this.#calls.set(upstreamId, {
      upstreamId,
      request: sent,
      isAwaited: true,
      questions: new Map(),
      answer: null,
    });
    const bare = legacyParams(params);
    const meta = fieldsOf(bare._meta);
    const token = meta.progressToken === undefined ? {} : { _meta: { ...meta, progressToken: upstreamId } };
    this.#wire.toServer(request(upstreamId, method, { ...bare, ...token }));
  }

  #retried(sent: Request): void {
    const { id, params } = sent;
    const call = this.#held.take(sent);
    if (!call) {
      const reason = 'the request state belongs to no request that waits here; repeat the request';
      return void this.#wire.toClient(failureOf(id, codes.params, reason), id);
    }
    call.request = sent;
    call.isAwaited = true;
    const responses = fieldsOf(params.inputResponses);
    for (const [key, question] of call.questions) {
      if (!Object.hasOwn(responses, key)) continue;
      call.questions.delete(key);
      this.#wire.toServer(resultOf(question.id, responses[key]));
    }
    if (call.answer) this.#finish(call, call.answer);
    else if (call.questions.size > 0) this.#hold(call);
  }

  #notified(message: Notification): void {
    if (message.method !== 'notifications/cancelled') return;
    const id = message.params.requestId as Id;
    if (this.#listens.cancel(id)) return void this.#follow();
    const call = [...this.#calls.values()].find((one) => one.isAwaited && one.request.id === id);
    if (call) this.#abandon(call);
  }

  /** Nobody awaits the call any more. */
  #abandon(call: OpenCall): void {
    this.#calls.delete(call.upstreamId);
    if (call.answer) return;
    this.#wire.toServer(notification('notifications/cancelled', { requestId: call.upstreamId }));
  }

  #answered(answer: Response): void {
    const call = this.#calls.get(answer.id);
    if (!call) return;
    if (call.isAwaited) return void this.#finish(call, answer);
    // The server went on without the client's answer: the retry gets this.
    call.answer = answer;
  }

  #finish(call: OpenCall, { result, error }: Response): void {
    const { id, method } = call.request;
    this.#calls.delete(call.upstreamId);
    if (!error) return void this.#wire.toClient(resultOf(id, modernResult(method, result)), id);
    const code = error.code === resourceMissing ? codes.params : error.code;
    this.#wire.toClient({ kind: 'response', id, error: { ...error, code } }, id);
  }

  #askClient(question: Request, related: Id | null): void {
    const { id, method, params } = question;
    if (method === 'ping') return void this.#wire.toServer(resultOf(id, {}));
    const refuse = (reason: string): void => this.#wire.toServer(failureOf(id, codes.method, reason));
    if (!inputMethods.includes(method)) return void refuse(`Method not found: ${method}`);
    const call = this.#callOf(related);
    if (!call) return void refuse(`${method} belongs to no single call of a client`);
    const capabilities = fieldsOf(fieldsOf(call.request.params._meta)[clientCapabilitiesKey]);
    const missing = missingCapability(method, params, capabilities);
    if (missing !== null) return void refuse(`the client does not have the capability ${missing}`);
    this.#count += 1;
    const inputRequest = { method, params: without(params, '_meta', 'task', 'elicitationId') };
    call.questions.set(`question-${this.#count}`, { id, inputRequest });
    if (call.isAwaited) this.#hold(call);
  }

  /** The call that a message of the server belongs to; null where several may be meant. */
  #callOf(related: Id | null): OpenCall | null {
    const own = related === null ? undefined : this.#calls.get(related);
    if (own) return own;
    const calls = [...this.#calls.values()].filter(({ request: { method } }) => method === 'tools/call');
    const isClear = calls.length === 1 || !this.#wire.isShared;
    return isClear ? (calls.at(-1) ?? null) : null;
  }

  /** Ends the client's request with the server's questions. */
  #hold(call: OpenCall): void {
    const { id } = call.request;
    const requestState = this.#held.add(call);
    if (requestState === null) {
      this.#abandon(call);
      return void this.#wire.toClient(
        failureOf(id, codes.server, 'too many calls wait for answers of their users'),
        id,
      );
    }
    call.isAwaited = false;
    const inputRequests = Object.fromEntries(
      [...call.questions].map(([key, { inputRequest }]) => [key, inputRequest]),
    );
    this.#wire.toClient(resultOf(id, { resultType: 'input_required', inputRequests, requestState }), id);
  }

  #notifyClient({ method, params }: Notification, related: Id | null): void {
    const { toClient } = this.#wire;
    if (method === 'notifications/cancelled') return void this.#withdrawn(params.requestId as Id);
    if (method === 'notifications/progress') {
      const call = this.#calls.get(params.progressToken as Id);
      if (!call?.isAwaited) return;
      const { progressToken } = fieldsOf(call.request.params._meta);
      return void toClient(notification(method, { ...params, progressToken }), call.request.id);
    }
    if (method.endsWith('/list_changed')) return void toClient(notification(method, params), null);
    if (!keptNotifications.includes(method)) return;
    if (method !== 'notifications/message') return void toClient(notification(method, params), null);
    const call = this.#callOf(related);
    const level = fieldsOf(call?.request.params._meta)[logLevelKey];
    if (call?.isAwaited && level !== undefined) toClient(notification(method, params), call.request.id);
  }

  /** The server does not need the answer any more. */
  #withdrawn(questionId: Id): void {
    for (const { questions } of this.#calls.values()) {
      for (const [key, { id }] of questions) if (id === questionId) questions.delete(key);
    }
  }

  #setLogLevel(level: unknown): void {
    const { logging } = fieldsOf(this.#introduction.capabilities);
    if (level === undefined || level === this.#logLevel || logging === undefined) return;
    this.#logLevel = level;
    this.#count += 1;
    this.#wire.toServer(request(`reeve:level:${this.#count}`, 'logging/setLevel', { level }));
  }

  /** Subscribes at the server to what clients await changes of. */
  #follow(): void {
    const { uris } = this.#listens;
    const send = (method: string, uri: string): void => {
      this.#count += 1;
      this.#wire.toServer(request(`reeve:subscription:${this.#count}`, method, { uri }));
    };
    for (const uri of uris) {
      if (this.#subscribed.has(uri)) continue;
      this.#subscribed.add(uri);
      send('resources/subscribe', uri);
    }
    for (const uri of [...this.#subscribed]) {
      if (uris.includes(uri)) continue;
      this.#subscribed.delete(uri);
      send('resources/unsubscribe', uri);
    }
  }

  get #discovery(): Fields {
    const { capabilities, instructions, serverInfo } = this.#introduction;
    return {
      ...modernResult('server/discover', {
        supportedVersions: [modernVersion],
        capabilities: serverCapabilitiesOf(capabilities),
      }),
      ...(instructions === undefined ? {} : { instructions }),
      _meta: { [serverInfoKey]: serverInfo },
    };
  }
}
