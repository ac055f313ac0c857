// The end of a proxy over standard input and output: clients end its input first, and send a signal two seconds later.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeHub } from '../fake-hub.ts';
import { until } from '../manual-clock.ts';
import { programArgs } from '../program.ts';
import { noEnv, rules } from './setting.ts';

const hub = new FakeHub();
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-mcp-end-'));
  await writeFile(join(folder, 'rules.yaml'), rules(noEnv));
  await hub.start();
  hub.on('POST /events', { body: { accepted: 1, duplicates: 0 } });
});
afterAll(async () => {
  await hub.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A server that ends some time after its input. */
const serverProgram = (milliseconds: number): string => `
  process.on('SIGTERM', () => {});
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    const introduction = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } };
    const results = { initialize: introduction, 'tools/call': { content: [] } };
    const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no' } };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }).on('close', () => {
    console.error('input ended');
    setTimeout(() => console.error('server ended') || process.exit(), ${milliseconds});
  });`;

/** A proxy whose client has called a tool and ended the input. */
async function endedProxy(program: string): Promise<{ proxy: ChildProcess; printed: () => string }> {
  const options = ['--contracts', join(folder, 'rules.yaml'), '--state', folder];
  const args = [...programArgs(), 'mcp', ...options, '--', process.execPath, '-e', program];
  const proxy = spawn(process.execPath, args, {
    env: { ...process.env, REEVE_URL: hub.url, REEVE_KEY: 'svk_production_end' },
  });
  let output = '';
  for (const stream of [proxy.stdout, proxy.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const send = (message: object): void =>
    void proxy.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'tester', version: '1' };
  send({
    ...{ id: 1, method: 'initialize' },
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
  });
  await until(() => output.includes('"id":1'), 'the introduction');
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/call', params: { name: 'read', arguments: {} } });
  await until(() => output.includes('"id":2'), 'the answer to the call');
  proxy.stdin.end();
  await until(() => output.includes('input ended'), 'the end of the input at the server');
  return { proxy, printed: () => output };
}

it('a signal after the end of the input lets the server end and the events leave', async () => {
  const { proxy, printed } = await endedProxy(serverProgram(500));
  const end = once(proxy, 'exit');
  proxy.kill('SIGTERM');
  expect(await end).toEqual([0, null]);
  expect(printed()).toContain('server ended');
  const events = hub
    .seen('POST /events')
    .flatMap(({ body }) => body.events as { readonly verdict: string }[]);
  expect(events.map(({ verdict }) => verdict)).toContain('call_executed');
});

it('a second signal ends the proxy at once', async () => {
  const { proxy, printed } = await endedProxy(serverProgram(3000));
  const end = once(proxy, 'exit');
  proxy.kill('SIGTERM');
  proxy.kill('SIGINT');
  const [code, signal] = await end;
  expect(code).toBe(null);
  expect(['SIGTERM', 'SIGINT']).toContain(signal);
  expect(printed()).not.toContain('server ended');
});
