// Results of tools as live contracts read them: fields of structured results, and values that JSON cannot write.
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { mcpRunOptions } from '../src/adapters/mcp-result.ts';
import { Guard, ResultReplacedError } from '../src/index.ts';
import { toWire } from '../src/record.ts';
import { resultText } from '../src/rules/evaluate/result-text.ts';
import { bundleOf } from './rules/evaluate/rules.ts';

const post = (effect: string, when: string, message = 'leak'): string =>
  bundleOf(
    `  - {id: p, type: post, tool: "*", when: ${when}, then: {effect: ${effect}, message: "${message}"}}`,
    'tools: {find: {side_effect: read}}',
  );

async function run(yaml: string, result: unknown, options: object = {}) {
  const guard = Guard.fromYaml(yaml, { openTelemetry: null, onFindings: null });
  const warnings: string[] = [];
  const returned = await guard
    .run<object, unknown>('find', {}, () => result, {
      ...options,
      onWarning: (all) => warnings.push(...all.map(({ message }) => message)),
    })
    .catch((failure: unknown) => failure);
  return { returned, warnings, last: guard.events.last() };
}

describe('a field of a result', () => {
  const risky = '{result.risk.score: {gt: 5}}';

  it('is read by warn, redact and deny, and fills messages', async () => {
    const result = { risk: { score: 9 }, mail: 'ghp_0123456789abcdefghijABCDEFGHIJ012345' };
    const warned = await run(post('warn', risky, 'score {result.risk.score}'), result);
    expect([warned.returned, warned.warnings]).toEqual([result, ['score 9 Consider retrying.']]);
    expect((await run(post('redact', risky), result)).returned).toEqual({ ...result, mail: '[REDACTED]' });
    const denied = await run(post('deny', risky), result);
    expect(denied.returned).toEqual(new ResultReplacedError('[OUTPUT SUPPRESSED] leak'));
    const low = { risk: { score: 1 } };
    expect(await run(post('deny', risky), low)).toMatchObject({ returned: low, warnings: [] });
  });

  it('is one of the structure of an MCP result, or of what an option returns', async () => {
    const result = { content: [{ type: 'text', text: 'x' }], structuredContent: { risk: { score: 9 } } };
    const suppressed = { content: [{ type: 'text', text: '[OUTPUT SUPPRESSED] leak' }], isError: true };
    expect((await run(post('deny', risky), result, mcpRunOptions)).returned).toEqual(suppressed);
    const resultFields = () => ({ risk: { score: 9 } });
    expect((await run(post('deny', risky), 'x', { resultFields })).returned).toBe('[OUTPUT SUPPRESSED] leak');
  });
});

describe('the isolation of programs in a result', () => {
  const quiet = post('warn', '{args.a: {exists: true}}');
  const events = (guard: Guard) => guard.events.events.map(({ action, isolation }) => [action, isolation]);

  it('is recorded with the end of the call, and sent', async () => {
    const guard = Guard.fromYaml(quiet, { openTelemetry: null });
    await guard.run('find', {}, () => ({ stdout: '', isolation: 'none' }));
    await guard.run('find', {}, () => ({ isError: true, isolation: 'bubblewrap' }));
    expect(events(guard)).toEqual([
      ['call_allowed', undefined],
      ['call_executed', 'none'],
      ['call_allowed', undefined],
      ['call_failed', 'bubblewrap'],
    ]);
    expect(guard.events.events.map((record) => toWire(record, 'a', null).payload.isolation)).toEqual([
      ...[undefined, 'none', undefined, 'bubblewrap'],
    ]);
    expect(Object.keys(guard.events.events[0] ?? {})).not.toContain('isolation');
  });

  it('is read from the structure of an MCP result', async () => {
    const result = { content: [], structuredContent: { isolation: 'bubblewrap' } };
    expect((await run(quiet, result, mcpRunOptions)).last).toMatchObject({ isolation: 'bubblewrap' });
  });

  const throwing = Object.defineProperty({}, 'isolation', {
    get: () => {
      throw new Error('no');
    },
  });
  it.each([
    ['another word', { isolation: 'docker' }],
    ['another type', { isolation: ['none'] }],
    ['a text', 'isolation: none'],
    ['an inherited field', Object.create({ isolation: 'none' })],
    ['a getter that throws', throwing],
  ])('is absent for %s', async (_name, result) => {
    const { last } = await run(quiet, result);
    expect(last).toMatchObject({ action: 'call_executed' });
    expect(last).not.toHaveProperty('isolation');
  });
});

describe('a result that is missing', () => {
  const named = '{tool.name: {equals: find}}';

  it.each([[undefined], [null]])('has nothing to redact: %s', async (result) => {
    const { returned, warnings, last } = await run(post('redact', named), result);
    expect([returned, warnings]).toEqual([result, ['leak']]);
    expect(last).toMatchObject({ action: 'call_executed', postconditions_passed: false });
  });

  const secret = { secret: 'ghp_0123456789abcdefghijABCDEFGHIJ012345' };
  it.each<[string, unknown, object]>([
    ['an option returns no text', secret, { outputText: () => null }],
    [
      'the text is that of an MCP result',
      { ...secret, content: [] },
      { ...mcpRunOptions, outputText: () => null },
    ],
    ['JSON writes nothing', { ...secret, toJSON: () => undefined }, {}],
  ])('is another than one without text, which is replaced as a whole: %s', async (_name, result, options) => {
    for (const when of [named, '{any: [{tool.name: {equals: find}}, {output.text: {matches: ghp}}]}']) {
      const { returned } = await run(post('redact', when), result, options);
      expect(returned instanceof ResultReplacedError ? returned.text : returned).toEqual(
        'replaceText' in options ? { content: [{ type: 'text', text: '[REDACTED]' }] } : '[REDACTED]',
      );
    }
  });
});

describe('a result that JSON alone cannot write', () => {
  const key = 'AKIA0123456789ABCDEF';
  const keys = '{output.text: {matches: "AKIA[0-9A-Z]{16}"}}';
  const own = { key, self: null as unknown };
  own.self = own;

  it.each([
    ['a big integer', { id: 2n ** 60n, key }],
    ['a map', new Map([['a', key]])],
    ['a map of other keys', new Map([[1, key]])],
    ['a set in a list', [new Set([key])]],
    ['an error', { failure: new Error(key) }],
    ['bytes', Buffer.from(`x ${key}`)],
    ['bytes in a field', { data: new TextEncoder().encode(key) }],
    ['an address', new URLSearchParams({ key })],
    ['a circle', own],
  ])('is judged by its content: %s', async (_name, result) => {
    const { returned, last } = await run(post('deny', keys), result);
    expect(String(returned)).toContain('[OUTPUT SUPPRESSED] leak');
    expect(last).toMatchObject({ postconditions_passed: false, policy_error: false });
    expect(JSON.stringify((await run(post('redact', keys), result)).returned)).not.toContain(key);
  });

  it('is left as it is if no contract fires', async () => {
    for (const result of [new Map([['a', 1n]]), [Buffer.from('x')], new Date(0)])
      expect(await run(post('deny', keys), result)).toMatchObject({ returned: result, warnings: [] });
  });

  class Hidden {
    readonly #key = key;
    reveal = () => this.#key;
  }
  class Closed {
    readonly #key = key;
    reveal(): string {
      return this.#key;
    }
  }

  it.each([
    ['a stream', Readable.from([key])],
    ['a reply', new Response(key)],
    ['an object without own fields', new Closed()],
    ['a promise in a list', [Promise.resolve(key)]],
  ])('fires its contracts where its content cannot be read: %s', async (_name, result) => {
    for (const effect of ['deny', 'redact']) {
      const { returned, last } = await run(post(effect, keys), result);
      expect(returned).toBeInstanceOf(ResultReplacedError);
      expect(last).toMatchObject({ postconditions_passed: false, policy_error: true });
    }
    const unrelated = await run(post('deny', '{tool.name: {equals: other}}'), result);
    expect(unrelated).toMatchObject({ returned: result, warnings: [] });
  });

  class Written {
    readonly note: string;
    constructor(note: string) {
      this.note = note;
    }
    toJSON(): this {
      return this;
    }
  }
  class Sums extends Map<string, string> {
    note = '';
  }
  const sums = Object.assign(new Sums([['a', 'b']]), { note: key });
  class Tagged {
    readonly items = [key];
    readonly [Symbol.toStringTag] = 'MyArray';
  }

  it.each([
    ['a method toJSON that gives the value itself', new Written(key)],
    ['a field of a subclass of Map', sums],
    ['a class that calls itself an array', new Tagged()],
  ])('is judged by its content: %s', async (_name, result) => {
    expect(String((await run(post('deny', keys), result)).returned)).toContain('[OUTPUT SUPPRESSED] leak');
  });

  it.each([
    new Date(0),
    new URL('https://example.com/a?b'),
    Object('text'),
    { at: new Date(0), list: [1, 'a', null, undefined] },
    new Written('plain'),
    { pipe: 'a', id: 1 },
  ])('is the text that JSON writes, where JSON leaves nothing out: %j', (result) => {
    expect(resultText(result)).toEqual({ text: JSON.stringify(result), isReadable: true });
  });

  it('is read by its own fields alone', async () => {
    const hidden = new Hidden();
    expect((await run(post('deny', keys), hidden)).returned).toBe(hidden);
  });
});
