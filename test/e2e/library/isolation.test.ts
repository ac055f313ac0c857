// Isolation as a tenant's tool setting: guards receive it from the real hub over each transport, and `exec` obeys it.
import type { Guard } from 'reeve-agent';
import { exec, IsolationError } from 'reeve-agent/exec';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { until } from '../../../packages/agent/test/manual-clock.ts';
import { rowsOfRun } from '../../runs.ts';
import { SocketClient } from '../socket.ts';
import { denies, Setting, yamlFor } from './setting.ts';

const setting = new Setting();
beforeAll(() => setting.open());
afterEach(async () => {
  await setting.clear();
  await put(null);
});
afterAll(() => setting.close());

const put = async (isolation: string | null): Promise<void> => {
  const { hub, cookie } = setting;
  const answer = await hub.call('PUT', '/api/v1/settings/tools', { cookie, body: { isolation } });
  expect([answer.status, answer.body.isolation]).toEqual([200, isolation ?? 'none']);
};
const becomes = (guard: Guard, mode: string): Promise<void> =>
  until(() => guard.isolation === mode, `isolation ${mode}`, 15_000);
/** Runs a program on a machine without bubblewrap. */
const runProgram = (guard: Guard) =>
  exec({
    argv: ['true'],
    within: [setting.folder],
    isolation: 'none',
    guard,
    bubblewrap: '/nonexistent/bwrap',
  });

it.each(rowsOfRun(['sse', 'websocket', 'websocket-msgpack'] as const, 1))(
  'a guard over %s follows the mode: the one of the hub at its start, then each change',
  async (transport) => {
    const guard = await setting.guard({ agentId: `early-${transport}`, transport });
    expect(await runProgram(guard)).toMatchObject({ code: 0, isolation: 'none' });
    await put('required');
    await becomes(guard, 'required');
    await expect(runProgram(guard)).rejects.toThrow(IsolationError);
    // No stream is open yet: the answer with the bundle contains the mode.
    const late = await setting.guard({ agentId: `late-${transport}`, transport });
    expect(late.isolation).toBe('required');
    const strict = await setting.guard({ agentId: `strict-${transport}`, transport, isolation: 'preferred' });
    await put(null);
    await becomes(guard, 'none');
    await becomes(late, 'none');
    expect(await runProgram(guard)).toMatchObject({ code: 0, isolation: 'none' });
    // The stricter one of the option and the hub's.
    await becomes(strict, 'preferred');
  },
  40_000,
);

it('the hub has the isolation of a program beside the end of its call', async () => {
  const { hub, cookie } = setting;
  const guard = await setting.guard({ agentId: 'runner' });
  await guard.run('build', {}, () => runProgram(guard));
  await guard.close();
  const { body: events } = await hub.call('GET', '/api/v1/events?agent_id=runner', { cookie });
  const { body: event } = await hub.call('GET', `/api/v1/events/${events[0].id}`, { cookie });
  expect(event.outcomes).toMatchObject([{ verdict: 'call_executed', isolation: 'none' }]);
  expect(event.payload).not.toHaveProperty('isolation');
}, 40_000);

it('a guard keeps the last mode for a start without the hub, and follows the hub again', async () => {
  const options = { agentId: 'cached', cacheFile: setting.file('isolation/cache.json') };
  const guard = await setting.guard(options);
  await put('required');
  await becomes(guard, 'required');
  await guard.close();
  await setting.hub.stop();
  const away = await setting.guard(options);
  expect([denies(away, 'one'), away.isolation]).toEqual([true, 'required']);
  await setting.hub.start();
  await put(null);
  await becomes(away, 'none');
}, 60_000);

it('a stream that does not ask for the mode receives no byte of it', async () => {
  const { hub, key } = setting;
  const headers = (agent: string) => ({ Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': agent });
  const stop = new AbortController();
  const path = '/api/v1/stream?env=production&documents=any&pins=1';
  const { body } = await fetch(hub.url + path, { headers: headers('released'), signal: stop.signal });
  const socket = await SocketClient.open(hub.port, path, headers('released-socket'), 'reeve.v1.json');
  let text = '';
  const reading = (async () => {
    for await (const chunk of body ?? []) text += Buffer.from(chunk).toString();
  })().catch(() => {});
  const updates = () => text.split('event: contract_update').length - 1;
  await until(() => updates() === 1, 'the bundle');
  await put('required');
  await setting.deploy(yamlFor('later'));
  await until(() => updates() === 2, 'the next bundle', 15_000);
  await socket.next('contract_update', 1);
  expect(text).not.toContain('isolation');
  expect(JSON.stringify(socket.frames)).not.toContain('isolation');
  stop.abort();
  socket.close();
  await reading;
}, 40_000);
