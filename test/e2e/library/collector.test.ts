// Each night: an agent and a hub send their spans to a real OpenTelemetry collector, which sends them to this test. The
// trace of a call that needs an approval is whole there, metrics arrive, and a collector that hangs costs spans alone.
import * as api from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalContext } from '../../../packages/agent/test/local-context.ts';
import { isNightly } from '../../runs.ts';
import { startCollector } from '../../services/collector.ts';
import { openReaper, type Reaper } from '../../services/reaper.ts';
import type { Service } from '../../services/service.ts';
import { OtlpReceiver, type SentSpan } from '../otlp-receiver.ts';
import { HubProcess } from '../process.ts';
import { samplesOf, scrapeText } from '../scrape.ts';
import { Setting } from './setting.ts';

const token = 'scrapes-of-sixteen';
const secret = 'sw0rdfish-in-an-argument';
const receiver = new OtlpReceiver();
let reaper: Reaper;
let collector: Service;
let setting: Setting;
let provider: BasicTracerProvider;

/** The trace of a request that the test makes. */
const newTrace = (digit: string) => {
  const traceId = digit.repeat(32);
  return { traceId, headers: { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` } };
};

describe.runIf(isNightly)('through a collector', () => {
  beforeAll(async () => {
    reaper = await openReaper();
    collector = await startCollector(reaper, await receiver.listen());
    setting = new Setting(
      new HubProcess({
        LOG_LEVEL: 'warn',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_METRICS_EXPORTER: 'otlp',
        OTEL_METRIC_EXPORT_INTERVAL: '1000',
        METRICS_TOKEN: token,
      }),
    );
    await setting.open();
    provider = new BasicTracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'agent' }),
      spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: `${collector.url}/v1/traces` }))],
    });
    api.trace.setGlobalTracerProvider(provider);
    api.context.setGlobalContextManager(new LocalContext());
    // A first build of the collector takes minutes.
  }, 2_400_000);
  afterAll(async () => {
    api.trace.disable();
    api.context.disable();
    await setting?.close();
    await provider?.shutdown();
    await reaper?.close();
    receiver.close();
  });

  it('one trace has a call, its approval, the decision and what the call then does', async () => {
    const guard = await setting.guard({ openTelemetry: api });
    const done = guard.run('deploy', { target: 'web', note: secret }, () => {
      api.trace.getTracer('tool').startSpan('inside').end();
      return 'deployed';
    });
    const { hub, cookie } = setting;
    const path = '/api/v1/approvals?status=pending';
    const pending = async () => (await hub.call('GET', path, { cookie })).body[0]?.id ?? null;
    await expect.poll(pending).not.toBeNull();
    const decision = newTrace('d');
    const answer = await hub.call('PUT', `/api/v1/approvals/${await pending()}`, {
      cookie,
      headers: decision.headers,
      body: { approved: true },
    });
    expect(answer.status).toBe(200);
    expect(await done).toBe('deployed');

    const call = () => receiver.spans.find(({ name }) => name === 'tool.execute deploy');
    await expect.poll(call, { timeout: 30_000 }).toBeDefined();
    const traceId = call()?.traceId ?? '';
    const parts = ['POST /api/v1/approvals', 'approval ended', 'push', 'inside', 'reeve.evaluate'];
    await expect
      .poll(() => receiver.namesOf(traceId), { timeout: 30_000 })
      .toEqual(expect.arrayContaining([...parts, expect.stringMatching(/^actor environment /)]));
    const spans = receiver.spansOf(traceId);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const isWithoutParent = ({ parentSpanId = '' }: SentSpan) => !ids.has(parentSpanId);
    expect(spans.filter(isWithoutParent).map(({ name }) => name)).toEqual(['tool.execute deploy']);
    expect(new Set(spans.map(({ service }) => service))).toEqual(new Set(['agent', 'reeve']));
    await expect
      .poll(() => receiver.namesOf(decision.traceId), { timeout: 30_000 })
      .toContain('PUT /api/v1/approvals/{approval_id}');
  });

  it('metrics are those of a scrape', async () => {
    const { hub } = setting;
    const stored = () =>
      receiver.metrics
        .get('reeve_events_total')
        ?.sum?.dataPoints.reduce((sum, { asDouble = 0 }) => sum + asDouble, 0) ?? 0;
    await expect.poll(stored, { timeout: 30_000 }).toBeGreaterThan(0);
    expect(receiver.metrics.get('reeve_events_total')?.sum?.isMonotonic).toBe(true);
    const names = [...samplesOf(await scrapeText(hub.url, token)).keys()].map((name) =>
      name.replace(/\{.*/, ''),
    );
    const scraped = new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')));
    const own = [...scraped].filter((name) => name.startsWith('reeve_'));
    expect([...receiver.metrics.keys()]).toEqual(expect.arrayContaining(own));
  });

  it('loses spans while it hangs, counts them, and gets spans again once it is back', async () => {
    const { hub, key } = setting;
    const lost = async () =>
      samplesOf(await scrapeText(hub.url, token)).get('reeve_spans_lost_total') ?? Number.NaN;
    const send = (i: number, headers = {}) => {
      const event = { agent_id: 'agent-2', tool_name: 't', verdict: 'call_allowed', mode: 'enforce' };
      const events = Array.from({ length: 10 }, (_, n) => ({ ...event, call_id: `${i}-${n}`, payload: {} }));
      const body = { events };
      return hub.call('POST', '/api/v1/events', { key, headers, body });
    };
    const before = await lost();
    await collector.pause();
    // More than may wait: each request has a span, and so have its commit and its frames.
    for (let i = 0; i < 1_500; i += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, (_, j) => send(i + j)));
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    }
    await expect.poll(lost, { timeout: 60_000 }).toBeGreaterThan(before);
    await collector.kill9();
    await collector.start();
    const back = newTrace('c');
    let i = 1_500;
    await expect
      .poll(
        async () => {
          await send(i++, back.headers);
          return receiver.namesOf(back.traceId);
        },
        { timeout: 60_000, interval: 500 },
      )
      .toContain('POST /api/v1/events');
  }, 180_000);
});
