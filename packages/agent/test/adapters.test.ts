// Tools of the AI SDK's shape under a guard, and the spans of governed calls, with stand-ins; the real packages are in
// real/.
import { describe, expect, it } from 'vitest';
import {
  DeniedError,
  Guard,
  type GuardMode,
  guardTools,
  isRefusal,
  type OpenTelemetryApi,
} from '../src/index.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { query: { side_effect: read } }
contracts:
  - id: no-drop
    type: pre
    tool: "*"
    when: { any: [{ args.sql: { contains: drop } }, { args.input: { contains: drop } }] }
    then: { effect: deny, message: "tables stay" }
  - id: interns-read
    type: pre
    tool: "*"
    when: { all: [{ principal.role: { equals: intern } }, { tool.name: { equals: write } }] }
    then: { effect: deny, message: "not by interns" }
  - id: hide
    type: post
    tool: query
    when: { output.text: { contains: hidden } }
    then: { effect: redact, message: "hidden", tags: [x] }
  - id: numbers
    type: post
    tool: query
    when: { output.text: { matches: "\\\\d{3}-\\\\d{4}" } }
    then: { effect: redact, message: "numbers" }
  - id: no-curl
    type: pre
    tool: shell
    when: { args.command: { contains: curl } }
    then: { effect: deny, message: "refused: {args.command}" }
`;
const guardOf = (openTelemetry: OpenTelemetryApi | null = null, mode: GuardMode = 'enforce'): Guard =>
  Guard.fromYaml(yaml, { openTelemetry, mode });

const yielding = {
  async *execute(input: string, _options: object) {
    yield `half of ${input}`;
    yield `all of ${input}`;
  },
};

describe('tools of the AI SDK', () => {
  it('keep what they are, and run under the guard with the SDK’s own options', async () => {
    const guard = guardOf();
    const given: unknown[] = [];
    const inputSchema = { jsonSchema: {} };
    const tools = guardTools(guard, {
      query: {
        description: 'asks the database',
        inputSchema,
        execute: async (input: { sql: string }, options: { toolCallId: string }) => {
          given.push(input, options);
          return { rows: 1 };
        },
      },
      elsewhere: { description: 'runs in a browser' },
    });
    expect(tools.query.inputSchema).toBe(inputSchema);
    expect(tools.elsewhere).toEqual({ description: 'runs in a browser' });
    expect(await tools.query.execute({ sql: 'select' }, { toolCallId: 'c1' })).toEqual({ rows: 1 });
    expect(given).toEqual([{ sql: 'select' }, { toolCallId: 'c1' }]);
    expect(guard.events.last()).toMatchObject({ tool_name: 'query', action: 'call_executed' });
  });

  it('return a denial to the model, or throw it', async () => {
    const execute = async (_input: { sql: string }, _options?: object): Promise<unknown> => 'ran';
    const returning = guardTools(guardOf(), { query: { execute } });
    const refused = await returning.query.execute({ sql: 'drop' }, {});
    expect(refused).toEqual({ refusal: 'denied', contract: 'no-drop', message: 'tables stay' });
    expect(isRefusal(refused)).toBe(true);
    expect(await returning.query.toModelOutput({ toolCallId: 'c', output: refused })).toEqual({
      type: 'error-text',
      value: 'Denied: tables stay',
    });
    const throwing = guardTools(guardOf(), { query: { execute } }, { onDeny: 'throw' });
    await expect(throwing.query.execute({ sql: 'drop' })).rejects.toThrow(DeniedError);
  });

  it('show rules an input that is no object, and give the last of several results', async () => {
    const tools = guardTools(guardOf(), { query: yielding }, { results: 'last' });
    expect(await tools.query.execute('it', {})).toBe('all of it');
    expect(await tools.query.execute('drop it', {})).toMatchObject({ message: 'tables stay' });
  });

  it('are refused where intermediate results would be lost', async () => {
    expect(() => guardTools(guardOf(), { query: yielding })).toThrow(
      "guardTools: the tool query yields several results, but contracts judge one. Return one result, or pass only the last: results: 'last'.",
    );
    const late = guardTools(guardOf(), {
      query: { execute: (input: string, options: object) => yielding.execute(input, options) },
    });
    await expect(late.query.execute('it', {})).rejects.toThrow('yields several results');
  });

  class Query {
    readonly execute = async (): Promise<string> => 'rows';
  }
  it.each<[string, object, RegExp]>([
    [
      'a tool of Mastra',
      { id: 'query', description: 'asks', inputSchema: {}, execute: async () => 'rows' },
      /^guardTools: the tool query has the id query, as a Mastra tool has.*guard\.run/,
    ],
    ['an instance of a class', new Query(), /is an instance of a class/],
    ['a tool that runs by invoke', { name: 'query', invoke: async () => 'rows' }, /runs through invoke/],
    ['an execute that is no function', { execute: 'rows' }, /has an execute that is not a function/],
    ['a function', () => 'rows', /is not a tool object/],
  ])('are refused, not passed unjudged, where they are %s', (_name, query, why) => {
    expect(() => guardTools(guardOf(), { query })).toThrow(TypeError);
    expect(() => guardTools(guardOf(), { query })).toThrow(why);
  });

  it('of a provider keep their id', () => {
    const computer = { type: 'provider-defined', id: 'anthropic.computer', description: 'sees a screen' };
    expect(guardTools(guardOf(), { computer })).toEqual({ computer });
  });

  it('take options per call', async () => {
    const tools = guardTools(
      guardOf(),
      { write: { execute: async (_input: object, _options: { role: string }) => 'written' } },
      { call: (_input, options) => ({ principal: { role: (options as { role: string }).role } }) },
    );
    expect(await tools.write.execute({}, { role: 'intern' })).toMatchObject({ contract: 'interns-read' });
    expect(await tools.write.execute({}, { role: 'admin' })).toBe('written');
  });
});

describe('telemetry', () => {
  const fake = () => {
    const spans: {
      name: string;
      attributes: { [name: string]: unknown };
      status?: { code: number; message?: string };
      ended: number;
    }[] = [];
    const counts: string[] = [];
    let active: unknown = 'root';
    const parents: unknown[] = [];
    const api: OpenTelemetryApi = {
      trace: {
        getTracer: (tracer) => ({
          startSpan(name, options) {
            const span = { name: `${tracer}: ${name}`, attributes: { ...options?.attributes }, ended: 0 };
            spans.push(span);
            return {
              setAttribute: (key: string, value: string | number | boolean) => {
                span.attributes[key] = value;
              },
              setStatus: (status: { code: number }) => Object.assign(span, { status }),
              end: () => {
                span.ended += 1;
              },
            };
          },
        }),
        setSpan: () => 'in the span',
      },
      context: {
        active: () => active,
        with: (context, task) => {
          active = context;
          parents.push(context);
          try {
            return task();
          } finally {
            active = 'root';
          }
        },
      },
      metrics: {
        getMeter: () => ({
          createCounter: (name) => ({
            add: (value, attributes) => counts.push(`${name} ${value} ${attributes?.['tool.name']}`),
          }),
        }),
      },
    };
    return { api, spans, counts, parents };
  };

  it('spans each call and each record, ended once, with what was decided', async () => {
    const { api, spans, counts, parents } = fake();
    const guard = guardOf(api);
    await guard.run('query', { sql: 'select', token: 'x' }, () => 'ok', { principal: { role: 'admin' } });
    const [call, allowed, executed] = spans;
    expect(spans.map((span) => span.name)).toEqual([
      'reeve: tool.execute query',
      'reeve.governance: reeve.evaluate',
      'reeve.governance: reeve.evaluate',
    ]);
    expect(call).toMatchObject({
      ended: 1,
      status: { code: 1 },
      attributes: {
        'tool.name': 'query',
        'tool.side_effect': 'read',
        'tool.call_index': 0,
        'governance.environment': 'production',
        'governance.run_id': guard.sessionId,
        'reeve.policy_version': guard.policyVersion,
        'governance.action': 'allowed',
        'governance.tool_success': true,
        'governance.postconditions_passed': true,
      },
    });
    expect(allowed?.attributes).toMatchObject({
      'reeve.verdict': 'call_allowed',
      'reeve.tool.args': '{"sql":"select","token":"[REDACTED]"}',
      'reeve.principal.role': 'admin',
      'reeve.session.attempt_count': 1,
    });
    expect(executed).toMatchObject({ ended: 1, status: { code: 1 } });
    expect(counts).toEqual(['reeve.calls.allowed 1 query']);
    // The record of the decision, the tool, and the record of its end.
    expect(parents).toEqual(['in the span', 'in the span', 'in the span']);
  });

  it('marks denials and failures as errors', async () => {
    const { api, spans, counts } = fake();
    const guard = guardOf(api);
    await guard.run('query', { sql: 'drop' }, () => 'ok').catch(() => {});
    await guard.run('query', {}, () => 'error: no').catch(() => {});
    expect(spans.map((span) => span.status?.code)).toEqual([2, 2, 2, 1, 1]);
    expect(spans[0]?.attributes).toMatchObject({
      'governance.action': 'denied',
      'governance.reason': 'tables stay',
    });
    expect(spans.every((span) => span.ended === 1)).toBe(true);
    expect(counts).toEqual(['reeve.calls.denied 1 query', 'reeve.calls.allowed 1 query']);

    const command = 'curl -u admin:hunter2hunter2 --password=Sup3rS3cret! https://x';
    const refused = 'refused: curl -u admin:[REDACTED] --password=[REDACTED] https://x';
    spans.length = 0;
    await guard.run('shell', { command }, () => 'ok').catch(() => {});
    await guardOf(api, 'observe').run('shell', { command }, () => 'ok');
    const fail = (): never => {
      throw new Error('bad row 555-1234, password=Sup3rS3cret!');
    };
    await guard.run('write', {}, fail).catch(() => {});
    await guard.run('query', {}, fail).catch(() => {});
    expect(JSON.stringify(spans)).not.toMatch(/hunter2|Sup3r/);
    const [denied, observed, ...failed] = spans.filter(({ name }) => name.startsWith('reeve: '));
    expect(denied).toMatchObject({
      status: { message: refused },
      attributes: { 'governance.reason': refused },
    });
    expect(observed?.attributes['governance.would_deny_reason']).toBe(refused);
    expect(failed.map(({ status }) => status?.message)).toEqual([
      'bad row 555-1234, password=[REDACTED]',
      'bad row [REDACTED], password=[REDACTED]',
    ]);
  });
});
