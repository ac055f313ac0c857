// A legacy client before a modern server: the proxy makes the handshake, and every request contains the client. The
// server's questions reach the client as requests until the call ends.
import { randomUUID } from 'node:crypto';
import { type Fields, fieldsOf, without } from '../../fields.ts';
import { exactNumbers } from '../../rules/strict-json.ts';
import { ChangeFeed } from './change-feed.ts';
import {
  clientCapabilitiesKey,
  clientInfoKey,
  legacyResult,
  legacyVersions,
  logLevelKey,
  modernVersion,
  serverInfoOf,
  subscriptionKey,
  versionKey,
} from './era.ts';
import { codes, failureOf, type Id, type Message, type Request, type Response } from './message.ts';
import {
  clientCapabilitiesOf,
  inputMethods,
  missingCapability,
  notification,
  request,
  resultOf,
  serverCapabilitiesOf,
  type Translation,
  type Wire,
} from './translation.ts';

const latestLegacy = '2025-11-25';
/** Times that a server may ask its client within one request. */
const maxRounds = 16;
/** Milliseconds before a request that the server only put off is sent again. */
const retryWait = 1000;

/** A request of the client that the server has not ended. */
interface OpenRequest {
  readonly request: Request;
  rounds: number;
  /** Of the last round. */
  upstreamId: Id;
  /** Questions to the client without an answer, by id. */
  readonly questions: Map<Id, string>;
  responses: { [key: string]: unknown };
  requestState: unknown;
}

export class LegacyClient implements Translation {
  readonly #wire: Wire;
  readonly #discovery: Fields;
  readonly #feed: ChangeFeed;
  readonly #open = new Map<Id, OpenRequest>();
  /** Ids of requests to the server that are not the client's own, with those. */
  readonly #rounds = new Map<Id, Id>();
  readonly #uris = new Set<string>();
  readonly #clientInfo: unknown;
  readonly #capabilities: Fields;
  #logLevel: unknown;
  #count = 0;

  /**
   * @param greeting the client's `initialize`
   * @param discovery the server's answer to `server/discover`
   */
  constructor(wire: Wire, greeting: Request, discovery: Fields) {
    this.#wire = wire;
    this.#discovery = discovery;
    this.#clientInfo = greeting.params.clientInfo;
    this.#capabilities = clientCapabilitiesOf(greeting.params.capabilities);
    this.#feed = new ChangeFeed(wire, fieldsOf(discovery.capabilities), () => this.#meta);
  }

  get #meta(): Fields {
    return {
      [versionKey]: modernVersion,
      ...(this.#clientInfo === undefined ? {} : { [clientInfoKey]: this.#clientInfo }),
      [clientCapabilitiesKey]: this.#capabilities,
      ...(this.#logLevel === undefined ? {} : { [logLevelKey]: this.#logLevel }),
    };
  }

  fromClient(message: Message): void {
    if (message.kind === 'response') this.#answered(message);
    else if (message.kind === 'request') this.#requested(message);
    else if (message.method === 'notifications/initialized') this.#feed.open();
    else if (message.method === 'notifications/cancelled') this.#cancelled(message.params.requestId as Id);
  }

  fromServer(message: Message, related: Id | null): void {
    if (this.#feed.take(message)) return;
    if (message.kind === 'request')
      return void this.#wire.toServer(failureOf(message.id, codes.method, 'Method not found'));
    if (message.kind === 'notification') {
      const meta = without(fieldsOf(message.params._meta), subscriptionKey);
      const params = {
        ...without(message.params, '_meta'),
        ...(Object.keys(meta).length > 0 ? { _meta: meta } : {}),
      };
      const own = related === null ? null : (this.#rounds.get(related) ?? related);
      return void this.#wire.toClient(notification(message.method, params), own);
    }
    const id = this.#rounds.get(message.id) ?? message.id;
    this.#rounds.delete(message.id);
    const open = this.#open.get(id);
    if (!open || open.upstreamId !== message.id) return;
    const result = fieldsOf(message.result);
    if (message.error || result.resultType !== 'input_required') return void this.#end(open, message);
    this.#ask(open, result);
  }

  restarted(): void {
    this.#feed.restarted();
  }

  close(): void {
    this.#feed.close();
  }

  #requested(sent: Request): void {
    const { id, method, params } = sent;
    const { toClient } = this.#wire;
    const uri = typeof params.uri === 'string' ? params.uri : null;
    switch (method) {
      case 'initialize':
        return void toClient(resultOf(id, this.#introduction(params.protocolVersion)), id);
      case 'ping':
        return void toClient(resultOf(id, {}), id);
      case 'logging/setLevel':
        this.#logLevel = params.level;
        return void toClient(resultOf(id, {}), id);
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        if (uri === null) return void toClient(failureOf(id, codes.params, 'uri must be a string'), id);
        if (method === 'resources/subscribe') this.#uris.add(uri);
        else this.#uris.delete(uri);
        this.#feed.open([...this.#uris]);
        return void toClient(resultOf(id, {}), id);
      default: {
        const open = {
          request: sent,
          rounds: 0,
          upstreamId: id,
          questions: new Map(),
          responses: {},
          requestState: null,
        };
        this.#open.set(id, open);
        this.#send(open, {});
      }
    }
  }

  #introduction(version: unknown): Fields {
    const { capabilities, instructions } = this.#discovery;
    return {
      protocolVersion: legacyVersions.includes(version) ? version : latestLegacy,
      capabilities: serverCapabilitiesOf(capabilities),
      serverInfo: serverInfoOf(this.#discovery) ?? { name: 'server', version: '' },
      ...(instructions === undefined ? {} : { instructions }),
    };
  }

  #send(open: OpenRequest, more: Fields): void {
    const { method, params } = open.request;
    const meta = { ...fieldsOf(params._meta), ...this.#meta };
    this.#wire.toServer(request(open.upstreamId, method, { ...params, ...more, _meta: meta }));
  }

  #end({ request: { id, method } }: OpenRequest, { result, error }: Response): void {
    this.#open.delete(id);
    if (!error) return void this.#wire.toClient(resultOf(id, legacyResult(result)), id);
    const { requiredCapabilities } = fieldsOf(error.data);
    if (error.code !== codes.missingCapability || requiredCapabilities === undefined)
      return void this.#wire.toClient({ kind: 'response', id, error }, id);
    this.#wire.toClient(unable(id, method, Object.keys(fieldsOf(requiredCapabilities)).join(', ')), id);
  }

  /** Puts the server's questions to the client. */
  #ask(open: OpenRequest, { inputRequests, requestState }: Fields): void {
    const { id, method } = open.request;
    const questions = Object.entries(fieldsOf(exactly(inputRequests)));
    const fail = (answer: Response): void => {
      this.#open.delete(id);
      this.#wire.toClient(answer, id);
    };
    if (open.rounds >= maxRounds)
      return void fail(failureOf(id, codes.server, `the MCP server asked ${maxRounds} times without an end`));
    for (const [, question] of questions) {
      const { method: questionMethod, params } = fieldsOf(question);
      if (typeof questionMethod !== 'string' || !inputMethods.includes(questionMethod))
        return void fail(failureOf(id, codes.server, 'the MCP server asked what its revision does not have'));
      const missing = missingCapability(questionMethod, fieldsOf(params), this.#capabilities);
      if (missing !== null) return void fail(unable(id, method, missing));
    }
    open.rounds += 1;
    open.requestState = requestState;
    open.responses = {};
    if (questions.length === 0) return void this.#wire.clock.after(retryWait, () => this.#retry(open), true);
    for (const [key, question] of questions) {
      // A contract may have refused the question before.
      if (this.#open.get(id) !== open) return;
      const { method: requestMethod, params } = fieldsOf(question);
      const questionId = `reeve:input:${randomUUID()}`;
      open.questions.set(questionId, key);
      // The older revision names each question that is asked at an address.
      const more = fieldsOf(params).mode === 'url' ? { elicitationId: questionId } : {};
      this.#wire.toClient(request(questionId, String(requestMethod), { ...fieldsOf(params), ...more }), id);
    }
  }

  #answered({ id, result, error }: Response): void {
    const open = [...this.#open.values()].find(({ questions }) => questions.has(id));
    if (!open) return;
    const key = open.questions.get(id) ?? '';
    open.questions.delete(id);
    if (error) {
      const { request: openRequest } = open;
      this.#withdraw(open, 'another question failed');
      this.#open.delete(openRequest.id);
      const reason = `the client failed to answer the MCP server: ${error.message}`;
      return void this.#wire.toClient(failed(openRequest.id, openRequest.method, reason), openRequest.id);
    }
    open.responses[key] = exactly(result);
    if (open.questions.size === 0) this.#retry(open);
  }

  #retry(open: OpenRequest): void {
    if (this.#open.get(open.request.id) !== open) return;
    this.#count += 1;
    open.upstreamId = `reeve:round:${this.#count}`;
    this.#rounds.set(open.upstreamId, open.request.id);
    const { responses, requestState } = open;
    this.#send(open, {
      ...(Object.keys(responses).length > 0 ? { inputResponses: responses } : {}),
      ...(typeof requestState === 'string' ? { requestState } : {}),
    });
  }

  #cancelled(id: Id): void {
    const open = this.#open.get(id);
    if (!open) return;
    this.#open.delete(id);
    this.#rounds.delete(open.upstreamId);
    this.#withdraw(open, 'the request was cancelled');
    this.#wire.toServer(notification('notifications/cancelled', { requestId: open.upstreamId }));
  }

  #withdraw({ request: { id }, questions }: OpenRequest, reason: string): void {
    for (const question of questions.keys())
      this.#wire.toClient(notification('notifications/cancelled', { requestId: question, reason }), id);
    questions.clear();
  }
}

/** A part of a result as a part of parameters; undefined where a number of it would change. */
function exactly(value: unknown): unknown {
  try {
    return exactNumbers(value);
  } catch {
    return undefined;
  }
}

/** The end of a request for a reason that the model can read where the request is a call. */
const failed = (id: Id, method: string, reason: string): Response =>
  method === 'tools/call'
    ? resultOf(id, { isError: true, content: [{ type: 'text', text: reason }] })
    : failureOf(id, codes.server, reason);

const unable = (id: Id, method: string, capability: string): Response =>
  failed(id, method, `the MCP server needs the capability ${capability}, which the client does not have`);
