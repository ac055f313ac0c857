// The proxy over standard input and output: a batch with a member that is no message.
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { serveStdio } from '../../src/cli/mcp/stdio.ts';
import { systemClock } from '../../src/clock.ts';
import { Guard } from '../../src/index.ts';
import { until } from '../manual-clock.ts';
import { type Json, noEnv, plainParts, rules } from './setting.ts';

it('answers each request of a batch, also beside a member that is no message', async () => {
  const guard = Guard.fromYaml(rules(noEnv), { openTelemetry: null });
  const input = new PassThrough();
  const output = new PassThrough();
  let text = '';
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const served = serveStdio(
    {
      ...plainParts(guard, systemClock),
      connect: ({ message: toProxy }) => ({
        send: (message) => {
          if (message.kind !== 'request') return;
          queueMicrotask(() => toProxy({ kind: 'response', id: message.id, result: {} }));
        },
        close: async () => {},
      }),
    },
    input,
    output,
    () => {},
  );
  input.write('[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":7}]\n');
  const answers = (): Json[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Json);
  await until(() => answers().length === 2, 'both answers', 5000);
  expect(answers()).toEqual(
    expect.arrayContaining([
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 2, error: { code: -32_600, message: 'method must be a string' } },
    ]),
  );
  input.end();
  expect(await served).toBe(0);
  await guard.close();
});
