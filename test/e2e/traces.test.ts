// Traces of a real hub at a small OTLP receiver: requests, actors, commits and pushes in one trace, `traceparent` in
// frames of streams that ask for it alone, and nothing of a call's content in any span.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { OtlpReceiver } from './otlp-receiver.ts';
import { HubProcess } from './process.ts';
import { SocketClient } from './socket.ts';
import { SseClient } from './sse.ts';

const receiver = new OtlpReceiver();
let hub: HubProcess;
let cookie = '';
let key = '';
const secret = 'sw0rdfish-in-an-argument';
const email = 'nobody-else@example.com';

beforeAll(async () => {
  hub = new HubProcess({
    LOG_LEVEL: 'warn',
    OTEL_EXPORTER_OTLP_ENDPOINT: await receiver.listen(),
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  });
  await hub.start();
  cookie = await hub.admin(email);
  key = (await hub.key(cookie)).key;
}, 60_000);
afterAll(async () => {
  await hub?.remove();
  receiver.close();
});

let made = 0;
const newTrace = () => {
  const traceId = String(++made).padStart(32, 'a');
  return { traceId, headers: { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` } };
};
const within = (traceId: string) =>
  expect.poll(() => receiver.namesOf(traceId).sort(), { timeout: 20_000, interval: 100 });

it('continues the trace of a request, and ignores a broken one', async () => {
  const { traceId, headers } = newTrace();
  await hub.call('GET', '/api/v1/contracts/none', { cookie, headers });
  await within(traceId).toEqual(['GET /api/v1/contracts/{contract_id}']);
  expect(receiver.spans.find((span) => span.traceId === traceId)?.parentSpanId).toBe('b'.repeat(16));
  const broken = { traceparent: '00-zzz' };
  expect((await hub.call('GET', '/api/v1/agents/status', { cookie, headers: broken })).status).toBe(200);
  const events = newTrace();
  const sent = [{ call_id: 'c', agent_id: 'a', tool_name: 't', verdict: 'call_allowed', mode: 'enforce' }];
  const payload = { tool_args: { text: secret } };
  await hub.call('POST', '/api/v1/events', {
    key,
    headers: events.headers,
    body: { events: sent.map((event) => ({ ...event, payload })) },
  });
  await within(events.traceId).toEqual(
    expect.arrayContaining(['POST /api/v1/events', 'commit events', 'push']),
  );
});

it('brings the trace of a deployment and of a decision to streams that ask for it, and to no other', async () => {
  const open = (query: string, headers = {}) =>
    SseClient.open(`${hub.url}/api/v1/stream?env=production${query}`, {
      Authorization: `Bearer ${key}`,
      'X-Service-Agent-Id': 'asker',
      ...headers,
    });
  const opening = newTrace();
  const [traced, plain] = [await open('&trace=1', opening.headers), await open('')];
  await within(opening.traceId).toContain('GET /api/v1/stream');
  await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: bundleYaml('guard') } });
  const deploy = newTrace();
  const path = '/api/v1/bundles/guard/1/deploy';
  const deployed = await hub.call('POST', path, {
    cookie,
    headers: deploy.headers,
    body: { env: 'production' },
  });
  expect(deployed.status).toBeLessThan(300);
  const ask = newTrace();
  const body = { tool_name: 'rm', message: 'may I?', tool_args: { path: secret }, timeout: 60 };
  const asked = await hub.call('POST', '/api/v1/approvals', {
    key,
    agent: 'asker',
    headers: ask.headers,
    body,
  });
  const decide = newTrace();
  await hub.call('PUT', `/api/v1/approvals/${asked.body.id}`, {
    cookie,
    headers: decide.headers,
    body: { approved: true },
  });
  for (const [type, traceId] of [
    ['contract_update', deploy.traceId],
    // The trace of the call that asked goes on.
    ['approval_decided', ask.traceId],
  ] as const) {
    const { data } = await traced.next(type, 0, 20_000);
    expect(data.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    const same = await plain.next(type, 0, 20_000);
    expect(same.data).not.toHaveProperty('traceparent');
  }
  await within(decide.traceId).toEqual(
    expect.arrayContaining([
      'PUT /api/v1/approvals/{approval_id}',
      expect.stringMatching(/^actor environment /),
    ]),
  );
  await within(ask.traceId).toEqual(
    expect.arrayContaining(['POST /api/v1/approvals', 'approval ended', 'push']),
  );
  traced.close();
  plain.close();
  expect(receiver.bodies).not.toContain(secret);
  expect(receiver.bodies).not.toContain(email);
});

it('continues the trace of a message over a WebSocket', async () => {
  const opening = newTrace();
  const headers = {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'talker',
    ...opening.headers,
  };
  const socket = await SocketClient.open(hub.port, '/api/v1/stream?env=production', headers, 'reeve.v1.json');
  const { traceId, headers: sent } = newTrace();
  const event = {
    call_id: 'over-a-socket',
    agent_id: 'talker',
    tool_name: 't',
    verdict: 'call_allowed',
    mode: 'enforce',
  };
  socket.send({
    type: 'events',
    ref: 1,
    traceparent: sent.traceparent,
    body: { events: [{ ...event, payload: {} }] },
  });
  expect((await socket.next('result')).data).toMatchObject({ ref: 1, status: 200 });
  socket.send({ type: 'events', ref: 2, traceparent: 7, body: { events: [] } });
  await within(traceId).toEqual(expect.arrayContaining(['message events', 'commit events', 'push']));
  await within(opening.traceId).toContain('GET /api/v1/stream');
  socket.close();
});

it('sends the metrics of a scrape by OTLP', async () => {
  const requests = () => receiver.metrics.get('reeve_http_requests_total')?.sum;
  await expect
    .poll(() => requests()?.dataPoints.reduce((sum, { asDouble }) => sum + asDouble, 0) ?? 0, {
      timeout: 20_000,
    })
    .toBeGreaterThan(2);
  expect(requests()?.isMonotonic).toBe(true);
  expect(receiver.metrics.get('reeve_build_info')?.gauge?.dataPoints[0]?.attributes).toContainEqual({
    key: 'mode',
    value: { stringValue: 'embedded' },
  });
  const [duration] = receiver.metrics.get('reeve_http_request_duration_seconds')?.histogram?.dataPoints ?? [];
  expect(duration?.bucketCounts.length).toBe((duration?.explicitBounds.length ?? 0) + 1);
  expect(duration?.bucketCounts.reduce((sum, count) => sum + Number(count), 0)).toBe(Number(duration?.count));
});
