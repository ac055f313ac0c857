// The bridge between the eras in one process: a scripted server behind it, a clock by hand.
import { describe, expect, it } from 'vitest';
import { EraBridge } from '../../src/cli/mcp/bridge.ts';
import { type Message, type Response, textOf } from '../../src/cli/mcp/message.ts';
import { ManualClock, until } from '../manual-clock.ts';
import type { Json } from './setting.ts';

const inputTimeout = 60_000;
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
};
const introduction = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
  serverInfo: { name: 'old', version: '1' },
};
const discovery = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
const rejected = { error: { code: -32_601, message: 'Method not found' } };
const unsupported = { error: { code: -32_022, message: 'no', data: { supported: ['2026-07-28'] } } };

type Answer = Partial<Response> | 'ends' | undefined;

class Bridged {
  readonly clock = new ManualClock();
  readonly got: Json[] = [];
  readonly atServer: Json[] = [];
  starts = 0;
  say: (message: Message) => void = () => {};
  readonly bridge: EraBridge;

  constructor(answer: (message: Json) => Answer, isShared = false) {
    const { clock } = this;
    this.bridge = new EraBridge(
      {
        ...{ clock, inputTimeout, isShared, eras: { legacy: null, modern: null } },
        connect: (events) => {
          this.starts += 1;
          this.say = events.message;
          return {
            send: (message) => {
              const sent = JSON.parse(textOf(message)) as Json;
              this.atServer.push(sent);
              if (message.kind !== 'request') return;
              const given = answer(sent);
              if (given === 'ends') queueMicrotask(() => events.ended('ended (exit code 1)'));
              else if (given)
                queueMicrotask(() => events.message({ kind: 'response', id: message.id, ...given }));
            },
            close: async () => {},
          };
        },
      },
      {
        message: (message) => this.got.push(JSON.parse(textOf(message))),
        introduced: () => {},
        restarted: () => {},
        failed: () => {},
        writeLog: () => {},
      },
    );
  }

  request(id: number, method: string, params: Json = {}, isModern = true): void {
    const _meta = { ...(isModern ? envelope : {}), ...(params._meta as Json | undefined) };
    this.bridge.send({ kind: 'request', id, method, params: { ...params, _meta } });
  }

  async answered(id: number): Promise<Json> {
    const find = () => this.got.find((one) => one.id === id && one.method === undefined);
    await until(() => find() !== undefined, `an answer to ${id}`);
    return find() ?? {};
  }

  async sent(method: string): Promise<Json> {
    const find = () => this.atServer.findLast((one) => one.method === method);
    await until(() => find() !== undefined, method);
    return find() ?? {};
  }
}

const oldServer = ({ method }: Json): Answer => {
  if (method === 'initialize') return { result: introduction };
  if (method === 'tools/call') return undefined;
  return method === 'server/discover' ? rejected : { result: {} };
};
const elicit = (id: string): Message => ({
  kind: 'request',
  id,
  method: 'elicitation/create',
  params: { message: 'sure?', requestedSchema: { type: 'object', properties: {} } },
});

async function asked(
  isShared = false,
): Promise<{ bridged: Bridged; call: Json; state: unknown; key: string }> {
  const bridged = new Bridged(oldServer, isShared);
  bridged.request(1, 'tools/call', { name: 'pay', arguments: {} });
  const call = await bridged.sent('tools/call');
  bridged.say(elicit('q1'));
  const { result } = (await bridged.answered(1)) as { result: Json };
  const [key = ''] = Object.keys(result.inputRequests as Json);
  return { bridged, call, state: result.requestState, key };
}

describe('a modern client before an older server', () => {
  it('gets a question of the server as the end of its request, and goes on with the same call', async () => {
    const { bridged, call, state, key } = await asked();
    expect((await bridged.answered(1)).result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        [key]: {
          method: 'elicitation/create',
        },
      },
    });
    const retry = {
      name: 'pay',
      arguments: {},
      requestState: state,
      inputResponses: { [key]: { action: 'accept' } },
    };
    bridged.request(2, 'tools/call', retry);
    await until(() => bridged.atServer.some(({ id }) => id === 'q1'), 'the answer at the server');
    expect(bridged.atServer.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
    bridged.say({ kind: 'response', id: call.id as string, result: { content: [] } });
    expect((await bridged.answered(2)).result).toEqual({ content: [], resultType: 'complete' });
    bridged.request(3, 'tools/call', retry);
    expect(await bridged.answered(3)).toMatchObject({ error: { code: -32_602 } });
    expect(bridged.atServer.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  it('that does not come back has its call cancelled at the server', async () => {
    const { bridged, call, state } = await asked();
    // A session with such a call is in use.
    expect(bridged.bridge.hasHeldCalls).toBe(true);
    bridged.clock.advance(inputTimeout + 1);
    expect(bridged.bridge.hasHeldCalls).toBe(false);
    expect(await bridged.sent('notifications/cancelled')).toMatchObject({ params: { requestId: call.id } });
    bridged.request(2, 'tools/call', { name: 'pay', arguments: {}, requestState: state });
    expect(await bridged.answered(2)).toMatchObject({ error: { code: -32_602 } });
  });

  it('is not asked outside of a call, nor where several calls may be meant', async () => {
    const { bridged } = await asked(true);
    bridged.request(2, 'tools/call', { name: 'pay', arguments: {} });
    await until(
      () => bridged.atServer.filter(({ method }) => method === 'tools/call').length === 2,
      'two calls',
    );
    bridged.say(elicit('q2'));
    await until(() => bridged.atServer.some(({ id }) => id === 'q2'), 'a refusal');
    expect(bridged.atServer.find(({ id }) => id === 'q2')).toMatchObject({ error: { code: -32_601 } });
  });

  it('sets the level of its logs, and follows resources', async () => {
    const bridged = new Bridged(oldServer);
    bridged.request(1, 'tools/list', { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } });
    expect(await bridged.sent('logging/setLevel')).toMatchObject({ params: { level: 'info' } });
    const notifications = { resourceSubscriptions: ['file:///a'] };
    bridged.request(2, 'subscriptions/listen', { notifications });
    expect(await bridged.sent('resources/subscribe')).toMatchObject({ params: { uri: 'file:///a' } });
    expect(bridged.got.at(-1)).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': 2 } },
    });
    bridged.bridge.send({
      kind: 'notification',
      method: 'notifications/cancelled',
      params: { requestId: 2 },
    });
    expect(await bridged.sent('resources/unsubscribe')).toMatchObject({ params: { uri: 'file:///a' } });
  });

  it('reaches a server that ends for the other era, or ignores it', async () => {
    const ends = new Bridged((message) =>
      message.method === 'server/discover' ? 'ends' : oldServer(message),
    );
    ends.request(1, 'tools/list');
    expect((await ends.answered(1)).result).toMatchObject({ resultType: 'complete' });
    expect(ends.starts).toBe(2);
    const silent = new Bridged((message) =>
      message.method === 'server/discover' ? undefined : oldServer(message),
    );
    silent.request(1, 'tools/list');
    await silent.sent('server/discover');
    silent.clock.advance(10_001);
    expect((await silent.answered(1)).result).toMatchObject({ resultType: 'complete' });
  });
});

describe('a client that falls back to the handshake', () => {
  it('keeps its session after the time of the request that an older server ignored', async () => {
    const bridged = new Bridged((message) =>
      message.method === 'server/discover' ? undefined : oldServer(message),
    );
    bridged.request(1, 'server/discover');
    await bridged.sent('server/discover');
    bridged.request(2, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} }, false);
    expect((await bridged.answered(2)).result).toEqual(introduction);
    expect(bridged.clock.pending).toBe(0);
    bridged.clock.advance(10_001);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(bridged.atServer.filter(({ method }) => method === 'initialize')).toHaveLength(1);
    bridged.request(3, 'tools/list', {}, false);
    expect((await bridged.answered(3)).result).toEqual({});
  });
});

describe('an older client before a server that ends at the handshake', () => {
  it('gets the error at once', async () => {
    const bridged = new Bridged(() => 'ends');
    bridged.request(1, 'initialize', { capabilities: {} }, false);
    expect((await bridged.answered(1)).error).toMatchObject({
      message: 'the MCP server ended (exit code 1)',
    });
    expect(bridged.clock.waits).toEqual([]);
    bridged.request(2, 'tools/list', {}, false);
    expect((await bridged.answered(2)).error).toMatchObject({
      message: 'the MCP server ended (exit code 1)',
    });
  });
});

describe('an older client before a modern server', () => {
  const greet = (bridged: Bridged, capabilities: Json = {}): Promise<Json> => {
    const clientInfo = { name: 'old', version: '1' };
    bridged.request(1, 'initialize', { protocolVersion: '2025-06-18', capabilities, clientInfo }, false);
    return bridged.answered(1);
  };

  it('is asked sixteen times within one request at most', async () => {
    const bridged = new Bridged(({ method }) => {
      if (method === 'initialize') return unsupported;
      if (method === 'server/discover') return { result: discovery };
      const inputRequests = { more: { method: 'elicitation/create', params: { message: 'more?' } } };
      return { result: { resultType: 'input_required', inputRequests } };
    });
    expect((await greet(bridged, { elicitation: {} })).result).toMatchObject({
      protocolVersion: '2025-06-18',
    });
    bridged.request(2, 'tools/call', { name: 'ask', arguments: {} }, false);
    for (let round = 1; round <= 16; round += 1) {
      const questions = () => bridged.got.filter(({ method }) => method === 'elicitation/create');
      await until(() => questions().length === round, `question ${round}`);
      bridged.bridge.send({
        kind: 'response',
        id: String(questions().at(-1)?.id),
        result: { action: 'accept' },
      });
    }
    expect(await bridged.answered(2)).toMatchObject({ error: { message: expect.stringContaining('16') } });
  });

  it('pings the proxy, and sets the level of its logs for each request', async () => {
    const bridged = new Bridged(({ method }) => {
      if (method === 'initialize') return unsupported;
      return { result: method === 'server/discover' ? discovery : { resultType: 'complete', tools: [] } };
    });
    await greet(bridged);
    bridged.request(2, 'ping', {}, false);
    expect((await bridged.answered(2)).result).toEqual({});
    bridged.request(3, 'logging/setLevel', { level: 'debug' }, false);
    await bridged.answered(3);
    bridged.request(4, 'tools/list', {}, false);
    expect((await bridged.answered(4)).result).toEqual({ tools: [] });
    expect(await bridged.sent('tools/list')).toMatchObject({
      params: { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } },
    });
    expect(bridged.atServer.some(({ method }) => method === 'ping' || method === 'logging/setLevel')).toBe(
      false,
    );
  });
});
