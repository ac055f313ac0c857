// Spans and counters through the real OpenTelemetry API and tracer SDK, found by the library itself.
import * as api from '@opentelemetry/api';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HubApprovals } from '../../src/approvals.ts';
import { HttpConnection } from '../../src/http.ts';
import { Guard } from '../../src/index.ts';
import { FakeHub } from '../fake-hub.ts';
import { LocalContext } from '../local-context.ts';
import { until } from '../manual-clock.ts';
import { Setting } from '../mcp/setting.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { query: { side_effect: read } }
contracts:
  - id: no-drop
    type: pre
    tool: query
    when: { args.sql: { contains: drop } }
    then: { effect: deny, message: "tables stay" }
`;

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
beforeAll(() => {
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new LocalContext());
});
afterAll(async () => {
  trace.disable();
  context.disable();
  await provider.shutdown();
});
beforeEach(() => exporter.reset());

const spans = (name: string): ReadableSpan[] =>
  exporter.getFinishedSpans().filter((span) => span.name === name);

describe('telemetry with the API installed', () => {
  it('spans an allowed call, its records, and what the tool spans itself', async () => {
    const guard = Guard.fromYaml(yaml);
    await guard.run('query', { sql: 'select', password: 'x' }, () => {
      trace.getTracer('tool').startSpan('inside').end();
      return 'ok';
    });
    const [call] = spans('tool.execute query');
    expect(call?.status.code).toBe(SpanStatusCode.OK);
    expect(call?.attributes).toMatchObject({
      'tool.name': 'query',
      'tool.side_effect': 'read',
      'governance.action': 'allowed',
      'governance.run_id': guard.sessionId,
      'reeve.policy_version': guard.policyVersion,
    });
    expect(spans('reeve.evaluate').map(({ attributes }) => attributes['reeve.verdict'])).toEqual([
      'call_allowed',
      'call_executed',
    ]);
    expect(spans('reeve.evaluate')[0]?.attributes['reeve.tool.args']).toBe(
      '{"sql":"select","password":"[REDACTED]"}',
    );
    for (const { parentSpanContext } of [...spans('inside'), ...spans('reeve.evaluate')])
      expect(parentSpanContext?.spanId).toBe(call?.spanContext().spanId);
  });

  it('marks a denied call and its record as errors, and ends every span', async () => {
    const guard = Guard.fromYaml(yaml);
    await expect(guard.run('query', { sql: 'drop' }, () => 'ok')).rejects.toThrow('tables stay');
    expect(spans('tool.execute query')[0]?.status).toEqual({
      code: SpanStatusCode.ERROR,
      message: 'tables stay',
    });
    expect(spans('reeve.evaluate')[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'reeve.decision.name': 'no-drop', 'reeve.verdict.reason': 'tables stay' },
    });
  });

  it('sends the trace of a call with its approval, and links the trace of the decision', async () => {
    const hub = await new FakeHub().start();
    const document = yaml.replace(
      'effect: deny, message: "tables stay"',
      'effect: approve, message: "drop it?"',
    );
    hub.on('GET /stream', () => 'stream').on('POST /approvals', { status: 201, body: { id: 'a1' } });
    const http = new HttpConnection({ url: hub.url, apiKey: 'svk_production_x' });
    const approvals = new HubApprovals(http);
    const guard = Guard.fromYaml(document, { approvals });
    const done = guard.run('query', { sql: 'drop' }, () => 'ok');
    await until(() => hub.seen('POST /approvals').length === 1);
    const decision = `00-${'d'.repeat(32)}-${'e'.repeat(16)}-01`;
    approvals.decided('a1', true, 'ann', decision);
    expect(await done).toBe('ok');
    const [call] = spans('tool.execute query');
    const { traceId, spanId } = call?.spanContext() ?? {};
    expect(hub.seen('POST /approvals')[0]?.headers.traceparent).toBe(`00-${traceId}-${spanId}-01`);
    expect(call?.links.map(({ context: { traceId: id } }) => id)).toEqual(['d'.repeat(32)]);
    await hub.stop();
  });

  it('stands between an MCP client and its server, in the trace of the client', async () => {
    const setting = new Setting(yaml, () => ({ result: { resultType: 'complete', content: [] } }), {
      openTelemetry: api,
    });
    const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      traceparent: parent,
    };
    setting.call(1, 'query', { sql: 'select' }, { _meta });
    await setting.answered(1);
    const [call] = spans('tool.execute query');
    expect(call?.parentSpanContext).toMatchObject({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) });
    const traceparent = `00-${'a'.repeat(32)}-${call?.spanContext().spanId}-01`;
    expect(setting.atServer).toMatchObject([{ params: { _meta: { traceparent } } }]);
    expect(setting.guard.events.events.map(({ trace_id }) => trace_id)).toEqual([
      'a'.repeat(32),
      'a'.repeat(32),
    ]);
  });

  it('is switched off by null', async () => {
    await Guard.fromYaml(yaml, { openTelemetry: null }).run('query', {}, () => 'ok');
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});
