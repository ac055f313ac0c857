// Clients and servers of both eras with the proxy between them, over standard input and output and over HTTP on each
// side: one suite for every pair, and each message of the proxy checked against the published schema of its revision.
import { PassThrough } from 'node:stream';
import { StdioServerTransport as Lines } from '@modelcontextprotocol/server/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNightly } from '../../../../test/runs.ts';
import type { Connect } from '../../src/cli/mcp/connection.ts';
import { McpListener } from '../../src/cli/mcp/listener.ts';
import { textOf } from '../../src/cli/mcp/message.ts';
import { remoteServer } from '../../src/cli/mcp/remote.ts';
import { serveStdio } from '../../src/cli/mcp/stdio.ts';
import { systemClock } from '../../src/clock.ts';
import { Guard, localApproval } from '../../src/index.ts';
import { until } from '../manual-clock.ts';
import {
  legacyClient,
  legacyTransport,
  modernClient,
  modernTransport,
  type PairClient,
  type Wire,
} from './pair-clients.ts';
import { httpServer, pipedServer, type RunningServer, type ServerEra, ServerLog } from './pair-servers.ts';
import { MessageSchema } from './published-schema.ts';
import { type Json, noEnv, plainParts, rules } from './setting.ts';

type Way = 'stdio' | 'HTTP';

const askFirst =
  '{ id: ask-first, type: pre, tool: read, when: { args.path: { contains: please } }, then: { effect: approve, message: "read {args.path}?", timeout: 30 } }';

const whose =
  '{ id: whose, type: pre, tool: read, when: { args.path: { equals: whose } }, then: { effect: deny, message: "{metadata.mcp.server} for {metadata.mcp.client}" } }';
const askAbout = (word: string, effect: string) =>
  `{ id: ask-${word}, type: post, tool: ask, when: { output.text: { contains: "${word}" } }, then: { effect: ${effect}, message: "about the ${word}" } }`;

const schemas = { legacy: new MessageSchema('2025-11-25'), modern: new MessageSchema('2026-07-28') };

/** Every message that the proxy has sent, with what is wrong with it. */
class Record {
  readonly problems: string[] = [];
  count = 0;
  readonly #methods = new Map<unknown, string>();

  /** A request that the proxy received, for the method of its answer. */
  received({ id, method }: Json): void {
    if (id !== undefined && typeof method === 'string') this.#methods.set(id, method);
  }

  sent(message: Json, ownSchema: MessageSchema): void {
    this.count += 1;
    // Each era is tried with its own first request.
    const schema =
      message.method === 'initialize'
        ? schemas.legacy
        : message.method === 'server/discover'
          ? schemas.modern
          : ownSchema;
    const method = message.method === undefined ? (this.#methods.get(message.id) ?? null) : null;
    for (const problem of schema.problems(message, method))
      this.problems.push(`${problem}: ${JSON.stringify(message)}`);
  }
}

/** Messages from the proxy to the client, as the client's transport receives them. */
function tap(
  transport: Wire & { send?: (...args: never[]) => Promise<void> },
  record: Record,
  schema: MessageSchema,
): Wire {
  let handler: ((message: never, ...more: never[]) => void) | undefined;
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () =>
      handler &&
      ((message: never, ...more: never[]) => {
        record.sent(message as Json, schema);
        handler?.(message, ...more);
      }),
    set: (next) => {
      handler = next;
    },
  });
  const send = transport.send?.bind(transport);
  transport.send = async (...args) => {
    record.received(args[0] as unknown as Json);
    return send?.(...args);
  };
  return transport;
}

/** Messages from the proxy to the server. */
function tapServer(connect: Connect, record: Record, schema: MessageSchema): Connect {
  return (events) => {
    const connection = connect({
      ...events,
      message: (message, related) => {
        if (message.kind === 'request') record.received(JSON.parse(textOf(message)));
        events.message(message, related);
      },
    });
    return {
      ...connection,
      close: () => connection.close(),
      send: (message, declarations) => {
        record.sent(JSON.parse(textOf(message)), schema);
        connection.send(message, declarations);
      },
    };
  };
}

interface Pair {
  readonly client: PairClient;
  readonly guard: Guard;
  readonly server: RunningServer;
  readonly log: ServerLog;
  readonly toClient: Record;
  readonly toServer: Record;
  /** Other contracts are in force. */
  deploy(): void;
  /** Another client of the same proxy. */
  another(canElicit: boolean): Promise<PairClient>;
  close(): Promise<void>;
}

async function pairOf(
  clientEra: ServerEra,
  clientWay: Way,
  serverEra: ServerEra,
  serverWay: Way,
): Promise<Pair> {
  const log = new ServerLog();
  const server = serverWay === 'stdio' ? pipedServer(serverEra, log) : await httpServer(serverEra, log);
  const toClient = new Record();
  const toServer = new Record();
  const { connect } = server;
  const reach =
    typeof connect === 'function'
      ? connect
      : remoteServer({ url: connect.url, headers: {}, clock: systemClock });
  const guard = Guard.fromYaml(
    rules(noEnv, whose, askFirst, askAbout('sure', 'warn'), askAbout('vault', 'deny')),
    {
      openTelemetry: null,
      approvals: localApproval(async () => ({ approved: true, decidedBy: 'a person' }), systemClock),
    },
  );
  const proxy = {
    ...plainParts(guard, systemClock),
    connect: tapServer(reach, toServer, schemas[serverEra]),
  };
  const newClient = clientEra === 'legacy' ? legacyClient : modernClient;
  const ends: (() => Promise<unknown>)[] = [];
  const changed: (() => void)[] = [];
  let transport: () => Wire;
  if (clientWay === 'HTTP') {
    const listener = new McpListener(proxy, { host: '127.0.0.1', port: 0, token: null });
    const url = `http://127.0.0.1:${await listener.start()}/mcp`;
    ends.push(() => listener.close());
    changed.push(() => listener.toolsChanged());
    transport = () => (clientEra === 'legacy' ? legacyTransport(url) : modernTransport(url));
  } else {
    transport = () => {
      const input = new PassThrough();
      const output = new PassThrough();
      const served = serveStdio(proxy, input, output, (task) => changed.push(task));
      ends.push(async () => {
        input.end();
        await served;
      });
      return new Lines(output, input) as Wire;
    };
  }
  const clients: PairClient[] = [];
  const another = async (canElicit: boolean): Promise<PairClient> => {
    const client = newClient(canElicit);
    await client.connect(tap(transport(), toClient, schemas[clientEra]));
    clients.push(client);
    return client;
  };
  return {
    client: await another(true),
    ...{ guard, server, log, toClient, toServer, another },
    deploy: () => {
      for (const task of changed) task();
    },
    close: async () => {
      for (const client of clients) await client.close();
      for (const end of ends) await end();
      await server.close();
      await guard.close();
    },
  };
}

const eras: readonly ServerEra[] = ['legacy', 'modern'];
const ways: readonly Way[] = ['stdio', 'HTTP'];
const pairs = eras.flatMap((clientEra) =>
  ways.flatMap((clientWay) =>
    eras.flatMap((serverEra) =>
      ways.map((serverWay) => [clientEra, clientWay, serverEra, serverWay] as const),
    ),
  ),
);

// Per commit, each pair of eras over both mixes of ways; at night also over the same way on both sides.
describe.each(pairs.filter(([, clientWay, , serverWay]) => isNightly || clientWay !== serverWay))(
  'a %s client over %s before a %s server over %s',
  (clientEra, clientWay, serverEra, serverWay) => {
    let pair: Pair;
    beforeAll(async () => {
      pair = await pairOf(clientEra, clientWay, serverEra, serverWay);
    });
    afterAll(() => pair.close());

    it('is introduced, lists tools and calls one', async () => {
      const { client, log } = pair;
      expect(client.instructions()).toBe('be kind');
      expect(await client.tools()).toEqual(['read', 'ask', 'slow']);
      expect(await client.call('read', { path: 'notes' })).toMatchObject({
        content: [{ type: 'text', text: 'contents of notes' }],
      });
      expect(log.lines).toEqual(['read notes']);
    });

    it('reads why a call is refused', async () => {
      const { client, log } = pair;
      log.lines.length = 0;
      expect(await client.call('read', { path: '.env' })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: 'Denied: secrets' }],
      });
      expect(await client.call('read', { path: 'whose' })).toMatchObject({
        content: [{ text: 'Denied: pair for pairs' }],
      });
      expect(log.lines).toEqual([]);
    });

    it('waits for an approval, with progress', async () => {
      const { client, log } = pair;
      log.lines.length = 0;
      const progress: unknown[] = [];
      const result = await client.call(
        'read',
        { path: 'please' },
        { onprogress: (one) => progress.push(one) },
      );
      expect(result).toMatchObject({ content: [{ text: 'contents of please' }] });
      expect(progress.length).toBeGreaterThan(0);
      expect(log.lines).toEqual(['read please']);
    });

    it('reads resources and prompts', async () => {
      const { client } = pair;
      expect(await client.resource('file:///notes')).toMatchObject({ contents: [{ text: 'buy milk' }] });
      expect(await client.prompt('greet', { who: 'Ada' })).toMatchObject({
        messages: [{ content: { text: 'greet Ada' } }],
      });
      await expect(client.resource('file:///none')).rejects.toThrow();
    });

    it('answers what the server asks', async () => {
      const { client, guard, log } = pair;
      log.lines.length = 0;
      expect(await client.call('ask')).toMatchObject({ content: [{ text: 'sure' }] });
      expect(log.lines).toEqual(['ask', 'answered true']);
      const last = guard.events.events.at(-1);
      expect(last).toMatchObject({ action: 'call_executed', rounds: 2, answers: [{ round: 2 }] });
      expect(Object.values(last?.answers?.[0]?.answers ?? {})).toMatchObject([
        { action: 'accept', content: { sure: true } },
      ]);
      expect(JSON.stringify(guard.events.events)).not.toContain('hunter2');
    });

    it('is not asked what a contract refuses', async () => {
      const { client, guard, log } = pair;
      log.lines.length = 0;
      expect(await client.call('ask', { about: 'the vault' })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: '[OUTPUT SUPPRESSED] about the vault' }],
      });
      expect(log.lines).toEqual(['ask']);
      expect(guard.events.events.at(-1)).toMatchObject({ action: 'call_executed' });
      expect(guard.events.events.at(-1)).not.toHaveProperty('answers');
    });

    it('without the capability reads what is missing', async () => {
      const { log, another } = pair;
      log.lines.length = 0;
      const answer = (await another(false)).call('ask').then(JSON.stringify, String);
      expect(await answer).toMatch(/elicitation/i);
      expect(log.lines.filter((line) => line.startsWith('answered'))).toEqual([]);
    });

    it('gets progress, and cancels at the server', async () => {
      const { client, log } = pair;
      log.lines.length = 0;
      const cancelled = new AbortController();
      const call = client.call('slow', {}, { signal: cancelled.signal, onprogress: () => cancelled.abort() });
      await expect(call).rejects.toThrow();
      await until(() => log.lines.includes('slow was cancelled'), 'the cancellation', 15_000);
    });

    it('gets changes of lists', async () => {
      const { client, log } = pair;
      let changes = 0;
      await client.follow(() => {
        changes += 1;
      });
      log.hasGrown = true;
      for (const announce of log.announce) announce();
      await until(() => changes > 0, 'a change', 15_000);
      expect(await client.tools()).toContain('more');
      const before = changes;
      pair.deploy();
      await until(() => changes > before, 'a change by a deployment', 15_000);
    });

    it('goes on after the server was started again', async () => {
      const { client, log, server } = pair;
      log.lines.length = 0;
      await server.restart();
      const call = () => client.call('read', { path: 'again' });
      // A cut connection, then a session that the server has forgotten.
      const result = await call().catch(call).catch(call);
      expect(result).toMatchObject({ content: [{ text: 'contents of again' }] });
      expect(log.lines).toEqual(['read again']);
    });

    it('gets and causes only messages of the revisions', () => {
      expect(pair.toClient.problems).toEqual([]);
      expect(pair.toServer.problems).toEqual([]);
      expect(pair.toClient.count).toBeGreaterThan(10);
      expect(pair.toServer.count).toBeGreaterThan(10);
    });
  },
);
