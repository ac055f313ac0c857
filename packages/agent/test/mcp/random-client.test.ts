// A client that does what it likes before the proxy: it repeats, reorders and forges its states, cancels tasks and
// restarts the proxy. Counts and records equal what the server has run.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Random, random } from '../../../../test/random.ts';
import { isNightly, runsOf } from '../../../../test/runs.ts';
import { proxyRounds } from '../../src/cli/proxy-rounds.ts';
import type { Guard } from '../../src/index.ts';
import { MemorySessionStore } from '../../src/sessions.ts';
import { pipedServer, type ServerEra, ServerLog } from './pair-servers.ts';
import type { Json } from './setting.ts';
import { ApprovalHub, TaskProxy, taskCapabilities } from './task-setting.ts';

const steps = isNightly ? 30 : 15;
const asks = (id: string, word: string, more = '', tool = 'read'): string =>
  `{ id: ${id}, type: pre, tool: ${tool}, when: { args.path: { starts_with: ${word} } }, then: { effect: approve, message: "sure?", timeout: 60${more} } }`;
const contracts = [
  asks('own', 'own', ', metadata: { elicit: true }'),
  asks('hub', 'hub'),
  asks('ask', 'hub', '', 'ask'),
];
const capabilities = { ...taskCapabilities, elicitation: { form: {} } };
const accepted = (content: object) => ({ action: 'accept', content });

/** A state that the client got, and the call that it belongs to. */
interface OpenCall {
  readonly name: string;
  readonly args: object;
  readonly state: string;
}

let approvals: ApprovalHub;
beforeAll(async () => {
  approvals = await new ApprovalHub().start();
});
afterAll(() => approvals.hub.stop());

/** Kinds of lines, records and tasks of all runs: a search that reaches nothing shows nothing. */
const reached = new Set<string>();

class RandomClient {
  readonly log = new ServerLog();
  readonly sessions = new MemorySessionStore();
  readonly guards: Guard[] = [];
  readonly #chance: Random;
  readonly #folder: string;
  readonly #era: ServerEra;
  readonly #way: 'stdio' | 'HTTP';
  /** Used ones, too. */
  readonly #states: OpenCall[] = [];
  readonly #tasks: unknown[] = [];
  #proxy: TaskProxy | null = null;
  #count = 0;

  constructor(chance: Random, folder: string) {
    this.#chance = chance;
    this.#folder = folder;
    this.#era = chance.pick(['legacy', 'modern']);
    this.#way = chance.pick(['stdio', 'HTTP']);
  }

  get proxy(): TaskProxy {
    if (!this.#proxy) throw new Error('not started');
    return this.#proxy;
  }

  async start(): Promise<void> {
    this.#proxy = await TaskProxy.start({
      ...{ way: this.#way, hub: approvals.hub, folder: this.#folder, contracts },
      server: pipedServer(this.#era, this.log),
      sessions: this.sessions,
      rounds: await proxyRounds(this.#folder, 'test'),
    });
    this.guards.push(this.#proxy.guard);
  }

  /** @returns steps under way, of which several may run side by side */
  async step(): Promise<void> {
    const chance = this.#chance;
    const kind = chance.pick([
      'call',
      'call',
      'call',
      'retry',
      'retry',
      'retry',
      'decide',
      'cancel',
      'answer',
      'answer',
      'restart',
    ]);
    if (kind === 'answer')
      return this.#tasks.length === 0 ? undefined : this.#answer(chance.pick(this.#tasks));
    if (kind === 'call') return this.#call();
    if (kind === 'decide') return this.#decide();
    if (kind === 'restart') return chance.int(3) === 0 ? this.restart() : undefined;
    if (kind === 'cancel') {
      if (this.#tasks.length === 0 || chance.int(3) > 0) return;
      await this.proxy.request('tasks/cancel', { taskId: chance.pick(this.#tasks) });
      return;
    }
    // Several at one moment, of one state or of others.
    const retries = Array.from({ length: 1 + chance.int(3) }, () => this.#retry());
    await Promise.all(retries);
  }

  async restart(): Promise<void> {
    await this.proxy.end();
    await this.start();
  }

  /** Ends all that waits. */
  async finish(): Promise<void> {
    for (let i = 1; i <= approvals.asked.length; i++)
      if (approvals.statusOf(`a-${i}`) === 'pending') approvals.decide(`a-${i}`, 'approved');
    for (const taskId of this.#tasks)
      while ((await this.proxy.ended(taskId)).status === 'input_required') await this.#answer(taskId);
    await this.proxy.end();
  }

  async #call(): Promise<void> {
    this.#count += 1;
    const isAsk = this.#chance.int(3) === 0;
    const path = `${this.#chance.pick(['free', 'own', 'hub'])}-${this.#count}`;
    const [name, args] = isAsk ? ['ask', path.startsWith('hub') ? { path } : {}] : ['read', { path }];
    await this.#send({ name, arguments: args });
  }

  async #retry(): Promise<void> {
    const chance = this.#chance;
    if (this.#states.length === 0) return;
    const { name, args, state } = chance.pick(this.#states);
    const at = chance.int(state.length);
    const forged = `${state.slice(0, at)}${state[at] === 'A' ? 'B' : 'A'}${state.slice(at + 1)}`;
    const retry: Json = {
      ...{ name, arguments: args, requestState: state },
      inputResponses: {
        sure: accepted({ sure: true }),
        'reeve.approval': accepted({ approve: chance.int(4) > 0 }),
        'elicitation:1': accepted({ sure: true }),
      },
    };
    const changes: readonly Json[] = [
      {},
      {},
      {},
      { arguments: { ...args, path: 'other' } },
      { name: name === 'read' ? 'ask' : 'read' },
      { requestState: forged },
      { requestState: undefined },
      { requestState: chance.pick(this.#states).state },
    ];
    await this.#send({ ...retry, ...chance.pick(changes) });
  }

  async #send(params: Json): Promise<void> {
    const { result = {} } = (await this.proxy.request('tools/call', params, capabilities)) as {
      result?: Json;
    };
    const { resultType, requestState, taskId, inputRequests } = result;
    if (resultType === 'task') this.#tasks.push(taskId);
    if (resultType !== 'input_required') return;
    expect(inputRequests).not.toEqual({});
    const { name, arguments: args } = params as { name: string; arguments: object };
    this.#states.push({ name, args, state: String(requestState) });
  }

  /** Answers what the tool of a task asks, several times at one moment. */
  async #answer(taskId: unknown): Promise<void> {
    const { status, inputRequests = {} } = await this.proxy.task(taskId);
    if (status !== 'input_required') return;
    reached.add('a task that asks');
    const answers = Object.fromEntries(
      Object.keys(inputRequests as Json).map((key) => [key, accepted({ sure: true })]),
    );
    const updates = Array.from({ length: 1 + this.#chance.int(3) }, () => this.proxy.update(taskId, answers));
    await Promise.all(updates);
    await this.proxy.ended(taskId);
  }

  #decide(): void {
    const last = approvals.asked.length;
    if (last === 0) return;
    const id = `a-${last - this.#chance.int(Math.min(3, last))}`;
    if (approvals.statusOf(id) === 'pending') approvals.decide(id, this.#chance.pick(['approved', 'denied']));
  }
}

function count(lines: readonly string[]): { readonly [line: string]: number } {
  const counts: { [line: string]: number } = {};
  for (const line of lines) counts[line] = (counts[line] ?? 0) + 1;
  return counts;
}

afterAll(() => {
  expect([...reached]).toEqual(
    expect.arrayContaining([
      'a task that asks',
      ...['read free', 'read own', 'read hub', 'ask', 'answered'],
      ...['call_approval_granted', 'call_approval_denied', 'call_denied', 'call_executed'],
    ]),
  );
});

describe('a client that does what it likes', () => {
  it.each(Array.from({ length: runsOf(200, 10) }, (_, i) => i + 1))(
    'runs each call once: seed %i',
    async (seed) => {
      const folder = await mkdtemp(join(tmpdir(), 'reeve-random-'));
      const client = new RandomClient(random(`mcp-client-${seed}`), folder);
      try {
        await client.start();
        for (let i = 0; i < steps; i++) await client.step();
        await client.finish();
        const records = client.guards.flatMap((guard) => guard.events.events);
        for (const { action } of records) reached.add(action);
        for (const line of client.log.lines) reached.add(/^(?:read \w+|\w+)/.exec(line)?.[0] ?? '');
        const executed = records.filter(({ action }) => action === 'call_executed');
        const reads = executed.filter(({ tool_name }) => tool_name === 'read');
        const readAtServer = client.log.lines.filter((line) => line.startsWith('read '));
        expect(count(readAtServer)).toEqual(count(reads.map(({ tool_args }) => `read ${tool_args.path}`)));
        expect(Math.max(0, ...Object.values(count(readAtServer)))).toBeLessThanOrEqual(1);
        const answered = client.log.lines.filter((line) => line.startsWith('answered'));
        expect(answered).toHaveLength(executed.length - reads.length);
        const begun = client.log.lines.filter((line) => line === 'ask');
        let counted = 0;
        for (const { sessionId } of client.guards) counted += await executionsOf(client, sessionId);
        expect(counted).toBe(readAtServer.length + begun.length);
        // Of each call at most one record says that it ended.
        expect(
          Math.max(0, ...Object.values(count(executed.map(({ call_id }) => call_id)))),
        ).toBeLessThanOrEqual(1);
      } finally {
        await client.proxy.end().catch(() => {});
        await rm(folder, { recursive: true, force: true });
      }
    },
  );
});

const executionsOf = async ({ sessions }: RandomClient, sessionId: string): Promise<number> =>
  Number((await sessions.get(`s:${sessionId}:execs`)) ?? 0);
