// Tasks whose tools ask their user: `tasks/get` shows the questions, and `tasks/update` brings the answers.
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { proxyRounds } from '../../src/cli/proxy-rounds.ts';
import { until } from '../manual-clock.ts';
import { type Json, noEnv } from './setting.ts';
import { TaskServer } from './task-server.ts';
import { TaskProxies, type TaskProxy, taskCapabilities } from './task-setting.ts';

const capabilities = { ...taskCapabilities, elicitation: { form: {} } };
const accepted = (content: object) => ({ action: 'accept', content });

const proxies = new TaskProxies();

/** A task whose call was approved, and whose tool asks. */
async function asking(proxy: TaskProxy): Promise<{ readonly taskId: unknown; readonly key: string }> {
  const { taskId } = await proxy.call('ask', {}, capabilities);
  proxies.approveLast();
  const task = await proxy.ended(taskId);
  expect(task).toMatchObject({ status: 'input_required', resultType: 'complete' });
  expect(task).not.toHaveProperty('requestState');
  const [[key, request] = ['', null]] = Object.entries(task.inputRequests as Json);
  expect(request).toMatchObject({ method: 'elicitation/create', params: { message: 'sure?' } });
  return { taskId, key };
}

describe.each([
  ['stdio', 'modern'],
  ['stdio', 'legacy'],
  ['HTTP', 'modern'],
  ['HTTP', 'legacy'],
] as const)('a tool that asks, over %s before a %s server', (way, era) => {
  it('gets the answers once, in one call of the records', async () => {
    const proxy = await proxies.start({ way }, era);
    const { taskId, key } = await asking(proxy);
    const answer = accepted({ sure: true, password: 'hunter2' });
    expect(await proxy.update(taskId, { [key]: 7 })).toMatchObject({ code: -32_602 });
    expect(await proxy.update(taskId, 'yes')).toMatchObject({ code: -32_602 });
    expect(await proxy.update(taskId, { other: answer })).toEqual({ resultType: 'complete' });
    expect(await proxy.task(taskId)).toMatchObject({ status: 'input_required' });
    const updates = await Promise.all([1, 2, 3].map(() => proxy.update(taskId, { [key]: answer })));
    for (const update of updates) expect(update).toEqual({ resultType: 'complete' });
    const text = 'sure';
    expect(await proxy.ended(taskId)).toMatchObject({ status: 'completed', result: { content: [{ text }] } });
    expect(await proxy.update(taskId, { [key]: answer })).toEqual({ resultType: 'complete' });
    expect(proxies.log.lines).toEqual(['ask', 'answered true']);
    expect(proxy.actions('ask')).toEqual([
      'call_approval_requested',
      'call_approval_granted',
      'call_executed',
    ]);
    const { events } = proxy.guard.events;
    expect(new Set(events.map(({ call_id }) => call_id)).size).toBe(1);
    expect(events.at(-1)).toMatchObject({ rounds: 3, answers: [{ round: 3 }] });
    expect(JSON.stringify(events.at(-1)?.answers)).toContain('accept');
    expect(JSON.stringify(events)).not.toContain('hunter2');
  });

  it('is cancelled while it waits, and recorded as failed', async () => {
    const proxy = await proxies.start({ way }, era);
    const { taskId, key } = await asking(proxy);
    await proxy.request('tasks/cancel', { taskId });
    expect(await proxy.task(taskId)).toMatchObject({ status: 'cancelled' });
    expect(await proxy.update(taskId, { [key]: accepted({ sure: true }) })).toEqual({
      resultType: 'complete',
    });
    await until(() => proxy.actions('ask').at(-1) === 'call_failed', 'the record');
    expect(proxies.log.lines).toEqual(['ask']);
  });
});

it('a call that asks without a task is recorded with the answers, redacted and bounded', async () => {
  const proxy = await proxies.start({ way: 'HTTP', contracts: [noEnv] });
  const declared = { elicitation: { form: {} } };
  const answers = async (content: object) => {
    const { requestState } = await proxy.call('ask', {}, declared);
    const retry = { name: 'ask', arguments: {}, inputResponses: { sure: accepted(content) }, requestState };
    await proxy.request('tools/call', retry, declared);
    return proxy.guard.events.events.at(-1);
  };
  const recorded = await answers({ sure: true, password: 'hunter2' });
  expect(recorded).toMatchObject({
    action: 'call_executed',
    rounds: 2,
    answers: [{ round: 2, answers: { sure: { action: 'accept', content: { sure: true } } } }],
  });
  expect(JSON.stringify(recorded)).not.toContain('hunter2');
  const long = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`part${at}`, 'word '.repeat(100)]));
  expect(await answers({ sure: true, ...long })).toMatchObject({
    answers: [{ round: 2, answers: { _truncated: true } }],
  });
});

it('a round goes on with the token that it began with, also after a restart', async () => {
  const declared = { elicitation: { form: {} } };
  const begin = async (token: string) =>
    proxies.start({
      way: 'HTTP',
      token,
      contracts: [noEnv],
      rounds: await proxyRounds(proxies.folder, 'test'),
    });
  const first = await begin('one');
  const { requestState } = await first.call('ask', {}, declared);
  await proxies.end(first);
  const inputResponses = { sure: accepted({ sure: true }) };
  const retry = { name: 'ask', arguments: {}, inputResponses, requestState };
  const other = await begin('two');
  expect((await other.request('tools/call', retry, declared)).error).toMatchObject({ code: -32_602 });
  await proxies.end(other);
  const again = await begin('one');
  expect((await again.request('tools/call', retry, declared)).result).toMatchObject({
    content: [{ text: 'sure' }],
  });
  expect(proxies.log.lines).toEqual(['ask', 'answered true']);
});

describe('a task that asks', () => {
  it.each(['stdio', 'HTTP'] as const)('survives a restart of the proxy, over %s', async (way) => {
    const first = await proxies.start({ way });
    const { taskId, key } = await asking(first);
    await proxies.end(first);
    const second = await proxies.start({ way });
    expect(await second.task(taskId)).toMatchObject({
      status: 'input_required',
      inputRequests: { [key]: {} },
    });
    await second.update(taskId, { [key]: accepted({ sure: true }) });
    expect(await second.ended(taskId)).toMatchObject({ status: 'completed' });
    expect(proxies.log.lines).toEqual(['ask', 'answered true']);
    expect([...first.actions('ask'), ...second.actions('ask')]).toEqual([
      'call_approval_requested',
      'call_approval_granted',
      'call_executed',
    ]);
  });

  it('whose proxy was killed after the answer reached the server fails, and never runs again', async () => {
    const answers: string[] = [];
    const server = new TaskServer();
    server.onAnswer = (text) => void answers.push(text);
    const proxy = await proxies.start({ way: 'HTTP', server });
    const { taskId } = await proxy.call('choose', {}, capabilities);
    proxies.approveLast();
    const { inputRequests } = await proxy.ended(taskId);
    const keys = Object.keys(inputRequests as Json);
    expect(keys).toHaveLength(2);
    const [one = '', two = ''] = keys;
    await proxy.update(taskId, { [one]: accepted({ at: 1 }) });
    const task = await proxy.task(taskId);
    expect(Object.keys(task.inputRequests as Json)).toEqual([two]);
    await proxy.update(taskId, { [two]: accepted({ at: 2 }) });
    await until(() => answers.length === 1, 'the answers');
    const copy = join(proxies.folder, 'copy');
    await cp(join(proxies.folder, 'tasks'), join(copy, 'tasks'), { recursive: true });
    const second = await proxies.start({ way: 'HTTP', server, folder: copy });
    expect(await second.ended(taskId)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('the outcome is not known') },
    });
    expect(second.guard.events.events).toEqual([
      expect.objectContaining({ action: 'call_failed', rounds: 3, answers: [expect.anything()] }),
    ]);
    expect(answers).toHaveLength(1);
    expect(answers[0]).toContain('"one":{"action":"accept","content":{"at":1}}');
  });

  it('is refused if contracts forbid its question, or its client cannot answer', async () => {
    const quiet =
      '{ id: quiet, type: post, tool: "*", when: { output.text: { contains: "sure?" } }, then: { effect: deny, message: quiet } }';
    const approve =
      '{ id: ask-first, type: pre, tool: "*", when: { tool.name: { exists: true } }, then: { effect: approve, message: "run?", timeout: 60 } }';
    const server = new TaskServer();
    const proxy = await proxies.start({ way: 'HTTP', server, contracts: [quiet, approve] });
    for (const [tool, declared] of [
      ['choose', capabilities],
      ['choose', taskCapabilities],
    ] as const) {
      const { taskId } = await proxy.call(tool, {}, declared);
      proxies.approveLast();
      const ended = await proxy.ended(taskId);
      expect(ended.status).not.toBe('input_required');
      expect(JSON.stringify(ended)).not.toContain('sure?');
      if (declared === taskCapabilities)
        expect(ended).toMatchObject({ status: 'failed', error: { code: -32_021 } });
    }
  });
});

describe('a task of the server that asks', () => {
  const questions = (...keys: string[]) => ({
    status: 'input_required',
    inputRequests: Object.fromEntries(
      keys.map((key) => [key, { method: 'elicitation/create', params: { message: key } }]),
    ),
  });
  const built = {
    status: 'completed',
    result: { resultType: 'complete', content: [{ type: 'text', text: 'built' }] },
  };

  it('gets its answers by an update of its own, once, also after a restart', async () => {
    const server = new TaskServer();
    const first = await proxies.start({ way: 'HTTP', server, contracts: [noEnv] });
    const { taskId } = await first.call('build', {}, capabilities);
    server.end(questions('which', 'where'));
    const { inputRequests } = await first.ended(taskId);
    const [which = '', where = ''] = Object.keys(inputRequests as Json);
    await first.update(taskId, { [which]: accepted({ at: 1 }) });
    await proxies.end(first);
    const second = await proxies.start({ way: 'HTTP', server, contracts: [noEnv] });
    expect(Object.keys((await second.task(taskId)).inputRequests as Json)).toEqual([where]);
    server.onUpdate = () => server.end(built);
    await second.update(taskId, { [where]: accepted({ at: 2 }) });
    expect(await second.ended(taskId)).toMatchObject({ status: 'completed' });
    expect(server.lines).toEqual([
      'build',
      'update own-1 {"which":{"action":"accept","content":{"at":1}},"where":{"action":"accept","content":{"at":2}}}',
    ]);
    expect([...first.actions('build'), ...second.actions('build')]).toEqual([
      'call_allowed',
      'call_executed',
    ]);
    expect(second.guard.events.events.at(-1)).toMatchObject({ answers: [{ round: 3 }] });
  });

  it('is cancelled there', async () => {
    const server = new TaskServer();
    const proxy = await proxies.start({ way: 'HTTP', server, contracts: [noEnv] });
    const { taskId } = await proxy.call('build', {}, capabilities);
    server.end(questions('which'));
    await proxy.ended(taskId);
    await proxy.request('tasks/cancel', { taskId });
    await until(() => server.lines.includes('cancel own-1'), 'the cancellation');
    expect(await proxy.task(taskId)).toMatchObject({ status: 'cancelled' });
    await until(() => proxy.actions('build').at(-1) === 'call_failed', 'the record');
  });
});
