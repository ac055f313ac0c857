// Calls that go on without their client while people decide.
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { rowsOfRun } from '../../../../test/runs.ts';
import { systemClock } from '../../src/clock.ts';
import { MemorySessionStore } from '../../src/sessions.ts';
import { until } from '../manual-clock.ts';
import { TaskServer } from './task-server.ts';
import { TaskProxies } from './task-setting.ts';

const proxies = new TaskProxies();
const { approvals } = proxies;
const read = { path: 'notes' };

describe.each([
  ['stdio', 'modern'],
  ['stdio', 'legacy'],
  ['HTTP', 'modern'],
  ['HTTP', 'legacy'],
] as const)('a call that asks, over %s before a %s server', (way, era) => {
  it('has a handle, runs once when it is approved, and gives its result to the handle', async () => {
    const proxy = await proxies.start({ way }, era);
    const { result } = (await proxy.request('server/discover', {})) as { result: { capabilities: object } };
    expect(result.capabilities).toMatchObject({ extensions: { 'io.modelcontextprotocol/tasks': {} } });
    const task = await proxy.call('read', read);
    expect(task).toMatchObject({
      resultType: 'task',
      taskId: expect.stringMatching(/^[0-9a-f]{32}$/),
      status: 'working',
      statusMessage: 'Approval pending: run read?',
      pollIntervalMs: 2000,
      ttlMs: expect.any(Number),
    });
    expect(await proxy.task(task.taskId)).toMatchObject({ resultType: 'complete', status: 'working' });
    expect(proxies.log.lines).toEqual([]);
    proxies.approveLast();
    const ended = await proxy.ended(task.taskId);
    expect(ended).toMatchObject({
      status: 'completed',
      result: { content: [{ type: 'text', text: 'contents of notes' }] },
    });
    expect(await proxy.task(task.taskId)).toEqual(ended);
    expect(proxies.log.lines).toEqual(['read notes']);
    expect(proxy.actions('read')).toEqual([
      'call_approval_requested',
      'call_approval_granted',
      'call_executed',
    ]);
    expect(new Set(proxy.guard.events.events.map(({ call_id }) => call_id)).size).toBe(1);
  });

  it('survives a restart of the proxy, and runs once in the next one', async () => {
    const first = await proxies.start({ way }, era);
    const { taskId } = await first.call('read', read);
    await proxies.end(first);
    expect(first.actions('read')).toEqual(['call_approval_requested']);
    const second = await proxies.start({ way }, era);
    expect(await second.task(taskId)).toMatchObject({ status: 'working' });
    proxies.approveLast();
    expect(await second.ended(taskId)).toMatchObject({ status: 'completed' });
    expect(proxies.log.lines).toEqual(['read notes']);
    expect(second.actions('read')).toEqual(['call_approval_granted', 'call_executed']);
    await proxies.end(second);
    const third = await proxies.start({ way }, era);
    expect(await third.task(taskId)).toMatchObject({ status: 'completed' });
    expect(proxies.log.lines).toEqual(['read notes']);
  });

  it('is cancelled by its client: the question is withdrawn, and a later approval runs nothing', async () => {
    const proxy = await proxies.start({ way }, era);
    for (const isOld of [false, true]) {
      approvals.isOld = isOld;
      const { taskId } = await proxy.call('read', read);
      const id = proxies.lastApproval;
      expect(await proxy.request('tasks/cancel', { taskId })).toMatchObject({
        result: { resultType: 'complete' },
      });
      expect(await proxy.task(taskId)).toMatchObject({ status: 'cancelled' });
      if (!isOld) await until(() => approvals.statusOf(id) === 'denied', 'the withdrawal');
      approvals.decide(id, 'approved');
    }
    await until(() => proxy.actions('read').length === 4, 'both denials');
    expect(proxy.actions('read')).toEqual([
      'call_approval_requested',
      'call_approval_denied',
      'call_approval_requested',
      'call_approval_denied',
    ]);
    expect(proxies.log.lines).toEqual([]);
  });
});

it.each(['modern', 'legacy'] as const)(
  'a client that never asks about its %s server is judged by the name of the server, and told of other contracts',
  async (era) => {
    const whose =
      '{ id: whose, type: pre, tool: read, when: { tool.name: { exists: true } }, then: { effect: deny, message: "{metadata.mcp.server}" } }';
    const proxy = await proxies.start({ contracts: [whose] }, era);
    expect(await proxy.call('read', read)).toMatchObject({ content: [{ text: 'Denied: pair' }] });
    void proxy.request('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const methods = () => proxy.heard.map(({ method }) => method);
    await until(() => methods().includes('notifications/subscriptions/acknowledged'), 'the subscription');
    proxy.deploy();
    await until(() => methods().includes('notifications/tools/list_changed'), 'the change');
  },
);

describe('a task', () => {
  it.each([
    ['denied', 'Denied: run read? (denied)'],
    ['timeout', 'Denied: run read? (nobody decided in time)'],
  ] as const)('that is %s completes with the refusal', async (status, text) => {
    const proxy = await proxies.start();
    const { taskId } = await proxy.call('read', read);
    approvals.decide(proxies.lastApproval, status);
    expect(await proxy.ended(taskId)).toMatchObject({
      status: 'completed',
      result: { isError: true, content: [{ text }] },
    });
    expect(proxies.log.lines).toEqual([]);
  });

  it('of another owner does not exist, nor does one that nobody has made', async () => {
    const first = await proxies.start({ way: 'HTTP', token: 'one' });
    const { taskId } = await first.call('read', read);
    await proxies.end(first);
    const unknown = { code: -32_602 };
    const other = await proxies.start({ way: 'HTTP', token: 'two' });
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      for (const id of [taskId, 'f'.repeat(32), '../../round.key', 7])
        expect((await other.request(method, { taskId: id })).error).toMatchObject(unknown);
    await proxies.end(other);
    const again = await proxies.start({ way: 'HTTP', token: 'one' });
    expect(await again.task(taskId)).toMatchObject({ status: 'working' });
  });

  it('is for clients that know tasks: others wait, and cannot ask about one', async () => {
    const proxy = await proxies.start({ way: 'HTTP' });
    const waiting = proxy.request('tools/call', { name: 'read', arguments: read }, {});
    const before = approvals.asked.length;
    await until(() => approvals.asked.length > before, 'the question');
    proxies.approveLast();
    expect(await waiting).toMatchObject({ result: { resultType: 'complete' } });
    expect(await proxy.request('tasks/get', { taskId: 'f'.repeat(32) }, {})).toMatchObject({
      error: { code: -32_021, data: { requiredCapabilities: { extensions: {} } } },
    });
    expect(await proxy.request('tasks/list', {})).toMatchObject({ error: { code: -32_601 } });
  });

  it('whose tool runs is cancelled at the server', async () => {
    const proxy = await proxies.start();
    const { taskId } = await proxy.call('slow');
    proxies.approveLast();
    await until(() => proxies.log.lines.includes('slow'), 'the tool');
    expect(await proxy.task(taskId)).toMatchObject({ status: 'working', statusMessage: 'The tool runs.' });
    await proxy.request('tasks/cancel', { taskId });
    await until(() => proxies.log.lines.includes('slow was cancelled'), 'the cancellation');
    expect(await proxy.task(taskId)).toMatchObject({ status: 'cancelled' });
  });

  it('whose proxy ended while the tool ran fails, and never runs again', async () => {
    const first = await proxies.start({ way: 'HTTP' });
    const { taskId } = await first.call('slow');
    proxies.approveLast();
    await until(() => proxies.log.lines.includes('slow'), 'the tool');
    await proxies.end(first);
    const second = await proxies.start({ way: 'HTTP' });
    expect(await second.ended(taskId)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('the outcome is not known') },
    });
    expect(proxies.log.lines.filter((line) => line === 'slow')).toHaveLength(1);
    expect(first.actions('slow').at(-1)).toBe('call_failed');
    expect(second.actions('slow')).toEqual([]);
  });

  it('whose proxy was killed while the tool ran is recorded as failed, under its own id and not counted again', async () => {
    const sessions = new MemorySessionStore();
    const count = () => sessions.get('s:one:tool:slow');
    const first = await proxies.start({ sessions, sessionId: 'one' });
    const { taskId } = await first.call('slow');
    proxies.approveLast();
    await until(() => proxies.log.lines.includes('slow'), 'the tool');
    expect(await count()).toBe('1');
    const left = join(proxies.folder, 'left');
    const again = join(proxies.folder, 'again');
    for (const copy of [left, again])
      await cp(join(proxies.folder, 'tasks'), join(copy, 'tasks'), { recursive: true });
    const second = await proxies.start({ sessions, folder: left, sessionId: 'one' });
    const failed = { status: 'failed', error: { message: expect.stringContaining('outcome is not known') } };
    expect(await second.ended(taskId)).toMatchObject(failed);
    // The second one was killed between the record and the end of the task.
    const third = await proxies.start({ sessions, folder: again, sessionId: 'one' });
    expect(await third.ended(taskId)).toMatchObject(failed);
    const [begun] = first.guard.events.events;
    for (const { guard } of [second, third]) {
      expect(guard.events.events).toEqual([
        expect.objectContaining({
          ...{ action: 'call_failed', call_id: begun?.call_id, run_id: 'one', tool_success: false },
          error: expect.stringContaining('outcome is not known'),
        }),
      ]);
    }
    expect(await count()).toBe('1');
    expect(proxies.log.lines.filter((line) => line === 'slow')).toHaveLength(1);
  });

  it('that was approved while no proxy ran for long fails, and is not run', async () => {
    const first = await proxies.start();
    const { taskId } = await first.call('read', read);
    await proxies.end(first);
    proxies.approveLast();
    const late = { ...systemClock, now: () => Date.now() + 60_000 + 601_000 };
    const second = await proxies.start({ clock: late });
    expect(await second.ended(taskId)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('approved, not run') },
    });
    expect(proxies.log.lines).toEqual([]);
    expect(second.actions('read')).toEqual(['call_denied']);
  });

  it('whose hub ends while it waits, and comes back, is asked once and runs once', async () => {
    const proxy = await proxies.start();
    const { taskId } = await proxy.call('read', read);
    const questions = approvals.asked.length;
    const { hub } = approvals;
    const port = Number(new URL(hub.url).port);
    await hub.stop();
    const looks = hub.requests.length;
    // Several looks fail: one would come each 20 ms.
    await wait(100);
    expect(await proxy.task(taskId)).toMatchObject({ status: 'working' });
    await hub.start(port);
    await until(() => hub.requests.length > looks, 'a look after the restart');
    expect(await proxy.task(taskId)).toMatchObject({ status: 'working' });
    expect(proxies.log.lines).toEqual([]);
    await hub.stop();
    proxies.approveLast();
    await hub.start(port);
    expect(await proxy.ended(taskId)).toMatchObject({ status: 'completed' });
    expect(proxies.log.lines).toEqual(['read notes']);
    expect(approvals.asked.length).toBe(questions);
    expect(proxy.actions('read')).toEqual([
      'call_approval_requested',
      'call_approval_granted',
      'call_executed',
    ]);
  });

  it('is judged again by the contracts in force when it is approved', async () => {
    const proxy = await proxies.start();
    const { taskId } = await proxy.call('read', read);
    const noReads =
      '{ id: no-reads, type: pre, tool: read, when: { tool.name: { exists: true } }, then: { effect: deny, message: closed } }';
    proxy.guard.reload(`apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts: [${noReads}]`);
    proxies.approveLast();
    expect(await proxy.ended(taskId)).toMatchObject({
      result: { isError: true, content: [{ text: 'Denied: closed' }] },
    });
    expect(proxies.log.lines).toEqual([]);
  });
});

describe('a task that the server makes of a call', () => {
  const numbers =
    '{ id: numbers, type: post, tool: "*", when: { output.text: { matches: "[0-9]{3}-[0-9]{4}" } }, then: { effect: redact, message: hidden } }';
  const once =
    '{ id: once, type: session, limits: { max_calls_per_tool: { build: 1 } }, then: { effect: deny, message: once } }';
  const built = {
    status: 'completed',
    result: { resultType: 'complete', content: [{ type: 'text', text: 'built, call 555-1234' }] },
  };
  const begin = (server: TaskServer) => proxies.start({ way: 'HTTP', server, contracts: [numbers, once] });

  it('is known by an id of the proxy alone, and its result is judged', async () => {
    const server = new TaskServer();
    const proxy = await begin(server);
    const task = await proxy.call('build');
    expect(task).toMatchObject({ resultType: 'task', status: 'working' });
    expect(JSON.stringify(task)).not.toContain('own-1');
    for (const method of ['tasks/get', 'tasks/cancel'])
      expect((await proxy.request(method, { taskId: 'own-1' })).error).toMatchObject({ code: -32_602 });
    server.end(built);
    const ended = await proxy.ended(task.taskId);
    expect(ended).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(ended)).toContain('built, call');
    expect(JSON.stringify(ended)).not.toContain('555-1234');
    expect(server.lines).toEqual(['build']);
    expect(proxy.actions('build')).toEqual(['call_allowed', 'call_executed']);
    expect(await proxy.call('build')).toMatchObject({ isError: true, content: [{ text: 'Denied: once' }] });
  });

  // The end may come before the first look at the server's task, or during it.
  it.each(rowsOfRun([1, 2, 3, 4, 5], 2))('survives a restart of the proxy (%d)', async () => {
    const server = new TaskServer();
    const first = await begin(server);
    const { taskId } = await first.call('build');
    await proxies.end(first);
    const second = await begin(server);
    expect(await second.task(taskId)).toMatchObject({ status: 'working' });
    server.end(built);
    expect(await second.ended(taskId)).toMatchObject({ status: 'completed' });
    expect(server.lines).toEqual(['build']);
    expect([...first.actions('build'), ...second.actions('build')]).toEqual([
      'call_allowed',
      'call_executed',
    ]);
  });

  it('is cancelled at the server, and fails or ends as it does there', async () => {
    const server = new TaskServer();
    const proxy = await proxies.start({ way: 'HTTP', server, contracts: [numbers] });
    const cancelled = await proxy.call('build');
    await proxy.request('tasks/cancel', { taskId: cancelled.taskId });
    await until(() => server.lines.includes('cancel own-1'), 'the cancellation');
    expect(await proxy.task(cancelled.taskId)).toMatchObject({ status: 'cancelled' });
    const failing = await proxy.call('build');
    server.end({ status: 'failed', error: { code: -32_603, message: 'no disk' } });
    expect(await proxy.ended(failing.taskId)).toMatchObject({
      status: 'failed',
      error: { code: -32_603, message: 'no disk' },
    });
    const asking = await proxy.call('build');
    server.end({ status: 'input_required', inputRequests: {} });
    expect(await proxy.ended(asking.taskId)).toMatchObject({
      status: 'completed',
      result: { isError: true },
    });
  });

  it('is made for clients that know tasks alone', async () => {
    const server = new TaskServer();
    const proxy = await begin(server);
    const { result } = await proxy.request('tools/call', { name: 'build', arguments: {} }, {});
    expect(result).toMatchObject({ content: [{ text: 'built at once' }] });
  });
});
