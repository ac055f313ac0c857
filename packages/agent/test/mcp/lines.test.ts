// Lines to a slow reader: the source waits with it, and keeps nothing for each line.
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { lineWriter } from '../../src/cli/mcp/lines.ts';

it('many lines to a slow reader pause the source until it has taken them, with the same listeners', async () => {
  const output = new PassThrough({ highWaterMark: 10 });
  const source = new PassThrough();
  const write = lineWriter(output, () => source);
  const count = (): number => output.listenerCount('close') + output.listenerCount('drain');
  const before = count();
  for (let line = 0; line < 50; line++) write('a line');
  expect(count()).toBe(before);
  expect(source.isPaused()).toBe(true);
  output.resume();
  await new Promise((resolve) => setImmediate(resolve));
  expect(source.isPaused()).toBe(false);
});

it('a source is read again when its reader is gone', async () => {
  const output = new PassThrough({ highWaterMark: 1 });
  const source = new PassThrough();
  lineWriter(output, () => source)('a line');
  expect(source.isPaused()).toBe(true);
  output.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  expect(source.isPaused()).toBe(false);
});
