// The tracer: contexts from headers, spans within spans, and a collector that hangs or is away.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterEach, expect, it } from 'vitest';
import { contextIn, SpanQueue, startTracer, type TracingSettings } from '../../../adapters/otel/tracer.ts';
import { continued, currentTrace, installTracer, traced, untraced } from '../../../src/shared/tracing.ts';
import { ManualClock } from '../../clock.ts';

afterEach(() => installTracer(null));

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parent = `00-${traceId}-b7ad6b7169203331-01`;

it.each([
  ['', null],
  ['x', null],
  [parent, traceId],
  [parent.toUpperCase(), null],
  [`ff${parent.slice(2)}`, null],
  [`${parent}-more`, null],
  [`01${parent.slice(2)}-more`, traceId],
  [`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, null],
  [`00-${traceId}-${'0'.repeat(16)}-01`, null],
])('reads %j', (text, id) => {
  expect(contextIn(text)?.traceId ?? null).toBe(id);
});

const span = (): ReadableSpan => ({ spanContext: () => ({ traceFlags: 1 }) }) as never;

it('loses spans, and nothing else, while the collector hangs', async () => {
  const clock = new ManualClock();
  const batches: number[] = [];
  const queue = new SpanQueue(
    { export: (spans) => void batches.push(spans.length), shutdown: async () => {} },
    clock,
  );
  for (let i = 0; i < 5_000; i++) queue.onEnd(span());
  expect(batches).toEqual([512]);
  // So many wait beside those on their way; the rest is lost at once.
  expect(queue.lost).toBe(5_000 - 512 - 2_048);
  clock.advance(20_000);
  await Promise.resolve();
  expect(queue.lost).toBe(5_000 - 2_048);
});

it('sends what is left at the end, and counts what a collector refuses', async () => {
  const clock = new ManualClock();
  let code = 1;
  const queue = new SpanQueue({ export: (_spans, done) => done({ code }), shutdown: async () => {} }, clock);
  queue.onEnd(span());
  await queue.forceFlush();
  expect(queue.lost).toBe(1);
  code = 0;
  queue.onEnd(span());
  await queue.shutdown();
  expect(queue.lost).toBe(1);
});

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

it('makes spans of what runs within a span, and none outside', async () => {
  const sent: SentSpan[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      for (const { scopeSpans } of JSON.parse(body).resourceSpans)
        for (const { spans } of scopeSpans) sent.push(...spans);
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const settings: TracingSettings = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    headers: {},
    serviceName: 'reeve',
    resource: {},
    sampler: 'parentbased_always_on',
    ratio: 1,
  };
  const tracer = startTracer(settings, { clock: new ManualClock(), node: undefined, version: '1' });
  expect(currentTrace()).toBeNull();
  installTracer(tracer);
  await continued('outer', 'server', parent, async () => {
    expect(currentTrace()).toContain(traceId);
    await traced('inner', async () => {});
    expect(untraced(() => currentTrace())).toBeNull();
  });
  await continued('unsampled', 'server', parent.replace(/01$/, '00'), async () => {
    expect(currentTrace()).toBeNull();
    await traced('nothing', async () => {});
  });
  await continued('broken', 'server', 'not a trace', async () => {}).catch(() => {});
  await expect(continued('failed', 'server', null, () => Promise.reject(new Error('x')))).rejects.toThrow(
    'x',
  );
  await tracer.close();
  server.close();
  const byName = new Map(sent.map((one) => [one.name, one]));
  expect([...byName.keys()].sort()).toEqual(['broken', 'failed', 'inner', 'outer']);
  expect(byName.get('outer')).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' });
  expect(byName.get('inner')).toMatchObject({ traceId, parentSpanId: byName.get('outer')?.spanId });
  expect(byName.get('broken')?.traceId).not.toBe(traceId);
  expect(byName.get('broken')?.parentSpanId ?? '').toBe('');
});
