// A rolling upgrade as docs/cluster.md describes it: three hubs behind nginx with the shipped configuration, one after
// another stopped and started again while agents follow streams, report events and people work.
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNightly, runsOf } from '../runs.ts';
import { startOwnNginx } from '../services/start.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';

const agentCount = runsOf(120, 60);
/** Between two calls of a caller, so that processors have time for the fleet of another file. */
const pauseMs = isNightly ? 0 : 10;
/** Like an agent library's first try after a break: no sooner. */
const reopenMs = 200;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Calls on connections of their own, as many clients would make them. */
function send(url: string, method: string, headers: object, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers }, agent: false }, async (answer) => {
      let text = '';
      for await (const chunk of answer) text += String(chunk);
      resolve({ status: answer.statusCode ?? 0, text: `${method} ${url}: ${text}` });
    });
    sent.once('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Agents that follow their environment and reopen a stream that ended. */
class Fleet {
  /** Streams that ended, since the last look. */
  ended = 0;
  open = 0;
  /** Answers to openings other than 200. */
  readonly refusals: string[] = [];
  #closed = false;
  readonly #url: string;
  readonly #key: string;
  readonly #streams = new Set<IncomingMessage>();

  constructor(url: string, key: string) {
    this.#url = `${url}/api/v1/stream?env=production`;
    this.#key = key;
  }

  start(): void {
    for (let i = 0; i < agentCount; i++) void this.#follow(`agent-${i}`);
  }

  async #follow(agent: string): Promise<void> {
    while (!this.#closed) {
      const headers = { Authorization: `Bearer ${this.#key}`, 'X-Service-Agent-Id': agent };
      const sent = request(this.#url, { headers, agent: false });
      sent.end();
      const [answer] = (await once(sent, 'response').catch((error: Error) => [error])) as [
        IncomingMessage | Error,
      ];
      if (answer instanceof Error || answer.statusCode !== 200) {
        this.refusals.push(answer instanceof Error ? answer.message : String(answer.statusCode));
        if (!(answer instanceof Error)) answer.resume();
      } else {
        this.open++;
        this.#streams.add(answer);
        answer.resume();
        await once(answer, 'close').catch(() => {});
        this.#streams.delete(answer);
        this.open--;
        this.ended++;
      }
      await new Promise((resolve) => setTimeout(resolve, reopenMs));
    }
  }

  close(): void {
    this.#closed = true;
    for (const stream of this.#streams) stream.destroy();
  }
}

/** Calls that go on until stopped; every answer that is no success, by call. */
class Load {
  count = 0;
  readonly failures: string[] = [];
  readonly #done: Promise<unknown>;
  #stopped = false;

  constructor(calls: readonly (() => Promise<Answer>)[]) {
    this.#done = Promise.all(calls.map((call) => this.#repeat(call)));
  }

  async #repeat(call: () => Promise<Answer>): Promise<void> {
    while (!this.#stopped) {
      const answer = await call().catch((error: Error) => ({ status: 0, text: error.message }));
      this.count++;
      if (answer.status < 200 || answer.status > 299)
        this.failures.push(`${answer.status} ${answer.text.slice(0, 200)}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }
}

describe('a rolling upgrade behind the shipped nginx.conf', () => {
  let nodes: Nodes;
  let proxy: Awaited<ReturnType<typeof startOwnNginx>>;
  let fleet: Fleet;
  let cookie = '';
  let key = '';

  /** Agents' streams on a node, as it counts them. */
  async function streamsOn(i: number): Promise<number> {
    const { body } = await nodes.at(i).call('GET', '/api/v1/health/metrics', { cookie });
    return body.streams.agents;
  }

  beforeAll(async () => {
    nodes = await startNodes({
      env: { DRAIN_SECONDS: '3', TRUSTED_PROXIES: '127.0.0.1', LOG_LEVEL: 'info' },
    });
    proxy = await startOwnNginx(nodes.nodes.map(({ port }) => port));
    cookie = await nodes.at(0).admin();
    ({ key } = await nodes.at(0).key(cookie));
    fleet = new Fleet(proxy.nginx.url, key);
    fleet.start();
    await eventually('every agent has a stream', () => fleet.open === agentCount || undefined, 30_000);
  }, 90_000);
  afterAll(async () => {
    fleet?.close();
    await nodes?.remove();
    await proxy?.stop();
  });

  it('fails no call, and ends no stream but those of the hub that stops', { timeout: 120_000 }, async () => {
    const { url } = proxy.nginx;
    const asAgent = {
      Authorization: `Bearer ${key}`,
      'X-Service-Agent-Id': 'agent-0',
      'Content-Type': 'application/json',
    };
    const asPerson = { Cookie: cookie, 'X-Requested-With': 'test', 'Content-Type': 'application/json' };
    let calls = 0;
    const report = () =>
      send(`${url}/api/v1/events`, 'POST', asAgent, {
        // A post with fewer counts against a limit of its own, which a fast machine reaches.
        events: Array.from({ length: 10 }, () => ({
          call_id: `call-${calls++}`,
          agent_id: 'agent-0',
          tool_name: 'read_file',
          verdict: 'call_allowed',
          mode: 'enforce',
          timestamp: new Date().toISOString(),
        })),
      });
    const read = () => send(`${url}/api/v1/bundles`, 'GET', asPerson);
    const put = () => send(`${url}/api/v1/sessions/s1/k1`, 'PUT', asAgent, { value: 'v' });
    const load = new Load([report, report, read, put]);
    for (const i of [0, 1, 2]) {
      const own = await streamsOn(i);
      fleet.ended = 0;
      expect(await nodes.stop(i)).toBe(0);
      await nodes.restart(i);
      await eventually('the node is ready', async () =>
        (await nodes.at(i).call('GET', '/api/v1/health/ready')).status === 200 ? true : undefined,
      );
      await eventually('every agent has a stream', () => fleet.open === agentCount || undefined, 20_000);
      expect(fleet.ended).toBeLessThanOrEqual(own);
    }
    await load.stop();
    expect(fleet.refusals).toEqual([]);
    expect(load.failures).toEqual([]);
    expect(load.count).toBeGreaterThan(100);
  });
});
