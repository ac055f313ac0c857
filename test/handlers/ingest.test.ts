// The compiled check of event batches: what it lets through, what it refuses and in which words; it agrees with the declaration.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventBatch } from '../../src/api/events.ts';
import { HubError } from '../../src/domain/error.ts';
import { checkBatch, readBatch } from '../../src/handlers/console/ingest.ts';

const event = {
  call_id: 'c1',
  agent_id: 'a1',
  tool_name: 'read_file',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: '2026-01-02T03:04:05.123456+00:00',
};

const bytes = (value: unknown) =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));

/** The error of reading; fails when there is none. */
function refusal(value: unknown): HubError {
  try {
    readBatch(bytes(value));
  } catch (error) {
    if (error instanceof HubError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

const places = (value: unknown) => refusal(value).detail.problems?.map(({ loc }) => loc.join('.'));

describe('a batch of events', () => {
  it('becomes domain events with microseconds and without unknown fields', () => {
    const { events, manifest } = readBatch(
      bytes({ events: [{ ...event, payload: { a: 1 }, extra: true }], more: 1 }),
    );
    const { timestamp: _text, ...rest } = event;
    expect(events).toEqual([
      { ...rest, timestamp: Date.UTC(2026, 0, 2, 3, 4, 5) + 123.456, payload: { a: 1 } },
    ]);
    expect(manifest).toBeNull();
  });

  it.each([
    ['an empty batch', { events: [] }, ['body.events']],
    ['1,001 events', { events: Array.from({ length: 1001 }, () => event) }, ['body.events']],
    ['a missing field', { events: [event, { ...event, call_id: undefined }] }, ['body.events.1.call_id']],
    ['an empty id', { events: [{ ...event, call_id: '' }] }, ['body.events.0.call_id']],
    ['a long name', { events: [{ ...event, tool_name: 'x'.repeat(256) }] }, ['body.events.0.tool_name']],
    ['a line end in a name', { events: [{ ...event, agent_id: 'a\nb' }] }, ['body.events.0.agent_id']],
    ['an unknown mode', { events: [{ ...event, mode: 'shadow' }] }, ['body.events.0.mode']],
    ['a time that is none', { events: [{ ...event, timestamp: 'today' }] }, ['body.events.0.timestamp']],
    ['a day that is none', { events: [{ ...event, timestamp: '2026-02-30' }] }, ['body.events.0.timestamp']],
    ['a payload that is a list', { events: [{ ...event, payload: [] }] }, ['body.events.0.payload']],
    [
      'a payload over 64 KiB',
      { events: [{ ...event, payload: { a: 'x'.repeat(65_536) } }] },
      ['body.events.0.payload'],
    ],
    [
      "a manifest of another agent's",
      { events: [event], agent_manifest: { agent_id: 'a2', policy_version: '', contracts: [] } },
      ['body.agent_manifest.agent_id'],
    ],
    ['no object', [], ['body']],
  ])('is refused with %s', (_what, value, wanted) => {
    expect(refusal(value).code).toBe('validation_failed');
    expect(places(value)).toEqual(wanted);
  });

  it.each([
    ['broken JSON', '{"events":'],
    ['nothing', ''],
    ['deep nesting', `{"events":[],"x":${'['.repeat(70)}${']'.repeat(70)}}`],
    [
      'a key that reaches into a prototype',
      `{"events":[${JSON.stringify(event).slice(0, -1)},"payload":{"__proto__":{}}}]}`,
    ],
    ['half of a surrogate pair', '{"events":[],"x":"\\ud800"}'],
    ['a number out of range', '{"events":[],"x":1e999}'],
  ])('is refused as invalid JSON: %s', (_what, text) => {
    expect(refusal(text).code).toBe('invalid_json');
  });

  it('is refused as invalid JSON when it is not UTF-8', () => {
    expect(() => readBatch(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(/not UTF-8/);
  });

  it('takes a payload of exactly 64 KiB', () => {
    const payload = { a: 'x'.repeat(65_536 - '{"a":""}'.length) };
    expect(readBatch(bytes({ events: [{ ...event, payload }] })).events).toHaveLength(1);
  });

  it('takes a manifest with one tool, several or none', () => {
    const contracts = [
      { id: 'a', type: 'pre', tool: 'x', mode: 'enforce' },
      { id: 'b', type: 'post', tool: ['x', 'y'], mode: 'observe' },
      { id: 'c', type: 'session', mode: 'enforce' },
    ];
    const batch = { events: [event], agent_manifest: { agent_id: 'a1', policy_version: 'v', contracts } };
    expect(checkBatch(batch).manifest?.contracts.map(({ tool }) => tool)).toEqual(['x', ['x', 'y'], []]);
  });

  it('is judged alike by the compiled check and the declaration', () => {
    const odd = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constant(null),
      fc.integer(),
      fc.constant('x'.repeat(300)),
    );
    const field = fc.option(odd, { nil: undefined });
    const mutation = fc.record(
      {
        call_id: field,
        agent_id: field,
        verdict: field,
        mode: fc.constantFrom('observe', 'other'),
        payload: fc.oneof(fc.dictionary(fc.string(), fc.string()), odd),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
        const value = JSON.parse(JSON.stringify({ events: mutations.map((m) => ({ ...event, ...m })) }));
        let code = 'taken';
        try {
          checkBatch(value);
        } catch (error) {
          code = error instanceof HubError ? error.code : 'crash';
        }
        if (code === 'invalid_json') return;
        expect(code).toBe(eventBatch.safeParse(value).success ? 'taken' : 'validation_failed');
      }),
    );
  });
});
