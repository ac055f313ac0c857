// Arguments of any kind reach the tool as they are; what was judged of them is what runs; results keep their type or
// are thrown.
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgedArguments, sayTheSame, shownToPeople } from '../src/guard/arguments.ts';
import { DeniedError, Guard, type GuardOptions, localApproval, ResultReplacedError } from '../src/index.ts';

const yamlOf = (contracts: string): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { find: { side_effect: read } }
contracts:
${contracts}
`;
const deny = (field: string, word: string): string =>
  `  - { id: no, type: pre, tool: "*", when: { ${field}: { contains: ${word} } }, then: { effect: deny, message: "no" } }`;
const ask =
  '  - { id: ask, type: pre, tool: "*", when: { args.target: { exists: true } }, then: { effect: approve, message: "go?" } }';
const redact =
  '  - { id: hide, type: post, tool: find, when: { output.text: { matches: "[0-9]{4}" } }, then: { effect: redact, message: m } }';
const guardOf = (contracts: string, options: GuardOptions = {}): Guard =>
  Guard.fromYaml(yamlOf(contracts), { openTelemetry: null, ...options });

// biome-ignore lint/suspicious/noExplicitAny: arguments of many shapes
type Change = (args: any) => unknown;

describe('arguments', () => {
  it('reach the tool as they are, whatever they are', async () => {
    const args = {
      bytes: Buffer.from('abc'),
      signal: new AbortController().signal,
      done: () => 'called',
      stream: Readable.from(['x']),
      when: new Date(0),
      map: new Map([['a', 1]]),
      url: new URL('https://example.com/a'),
      big: 7n,
      symbol: Symbol('s'),
      nothing: undefined,
    };
    const guard = guardOf(deny('args.text', 'secret'));
    const given = await guard.run('send', args, (seen) => seen);
    expect(given).toBe(args);
    expect(given.done()).toBe('called');
    expect(guard.events.last().tool_args).toEqual({
      bytes: '[BINARY 3 bytes]',
      signal: '[AbortSignal]',
      done: '[FUNCTION]',
      stream: '[Readable]',
      when: '1970-01-01T00:00:00.000Z',
      map: { a: 1 },
      url: 'https://example.com/a',
      big: '7',
      symbol: 'Symbol(s)',
      nothing: undefined,
    });
  });

  it.each([
    ['a map', { deep: new Map([['text', 'a secret']]) }],
    [
      'an object of a class',
      {
        deep: new (class {
          text = 'a secret';
        })(),
      },
    ],
    ['an object without a prototype', { deep: Object.assign(Object.create(null), { text: 'a secret' }) }],
    ['a field of that name', { deep: { text: new String('a secret') } }],
    ['an address', { deep: { text: new URL('https://secret.example.com') } }],
  ])('are judged inside %s', async (_name, args) => {
    const guard = guardOf(deny('args.deep.text', 'secret'));
    await expect(guard.run('send', args, () => 'sent')).rejects.toThrow(DeniedError);
  });

  it('are not changed by hooks, which see a frozen copy', async () => {
    const hook = {
      name: 'meddler',
      run: (call: { args: object }) => {
        (call.args as { path: string }).path = 'other';
        return undefined;
      },
    };
    const failure = await guardOf(deny('args.x', 'y'), { hooks: [hook] })
      .run('read', { path: 'a' }, () => 'read')
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DeniedError);
    expect(String(failure)).toContain('Hook error');
  });

  it.each([
    ['a field', { target: 'a', list: [1] }, (args) => (args.target = 'b')],
    ['a deep field', { target: { a: [{ b: 1 }] } }, (args) => (args.target.a[0].b = 2)],
    ['a new field', { target: 'a' }, (args) => (args.more = 1)],
    ['a field less', { target: 'a', more: 1 }, (args) => delete args.more],
    ['a longer list', { target: [1] }, (args) => args.target.push(2)],
    ['bytes', { target: Buffer.from('abc') }, (args) => args.target.write('x')],
    ['a map', { target: new Map([['a', 1]]) }, (args) => args.target.set('a', 2)],
    ['a date', { target: new Date(0) }, (args) => args.target.setTime(1)],
    ['an address', { target: new URL('https://a.example') }, (args) => (args.target.host = 'b.example')],
    ['a function', { target: () => 1 }, (args) => (args.target = () => 2)],
    [
      'a field of an object of a class',
      {
        target: new (class {
          path = 'a';
        })(),
      },
      (args) => (args.target.path = 'b'),
    ],
  ] as readonly [string, object, Change][])(
    'with %s changed while a person decided do not run',
    async (_name, args, change) => {
      const approvals = localApproval(async () => {
        change(args);
        return true;
      });
      let ran = false;
      const guard = guardOf(ask, { approvals });
      const failure = await guard
        .run('deploy', args, () => {
          ran = true;
        })
        .catch((error: unknown) => error);
      expect(ran).toBe(false);
      expect(failure).toMatchObject({ contract: 'arguments_changed' });
    },
  );

  it('that work by themselves are not changed by that', async () => {
    const emitter = new EventEmitter();
    const stream = Readable.from(['a', 'b']);
    const controller = new AbortController();
    const approvals = localApproval(async () => {
      emitter.on('x', () => {});
      stream.read();
      controller.abort();
      return true;
    });
    const args = { target: 'a', emitter, stream, signal: controller.signal };
    expect(await guardOf(ask, { approvals }).run('deploy', args, () => 'deployed')).toBe('deployed');
  });

  it('that were changed run where a guard only observes, and the record says so', async () => {
    const args = { target: 'a' };
    const hook = {
      run: () => {
        args.target = 'b';
        return undefined;
      },
    };
    const guard = guardOf(deny('args.x', 'y'), { hooks: [hook], mode: 'observe', sessionId: 's' });
    expect(await guard.run('deploy', args, (seen) => seen.target)).toBe('b');
    const actions = guard.events.events.map(({ action, decision_name }) => `${action} ${decision_name}`);
    expect(actions).toEqual(['call_allowed null', 'call_would_deny arguments_changed', 'call_executed null']);
    expect(guard.events.last().session_execution_count).toBe(1);
  });

  it('of circles and shared parts run, and are shown with their end', async () => {
    const circle: { name: string; self?: object } = { name: 'a' };
    circle.self = circle;
    const guard = guardOf(deny('args.x', 'y'));
    expect(await guard.run('t', { circle, again: circle }, () => 'ran')).toBe('ran');
    expect(guard.events.last().tool_args).toMatchObject({ circle: { name: 'a', self: '[CIRCULAR]' } });
  });

  it('that inherit data are refused: a tool may read it by name, or copy the object without it', async () => {
    const guard = guardOf(deny('args.path', 'secret'));
    const merged: { path?: string } = Object.assign({}, JSON.parse('{"__proto__": {"path": "/secret"}}'));
    const call = guard.run('read', merged, (args) => args.path);
    await expect(call).rejects.toMatchObject({ contract: 'arguments_in_doubt' });
    const own = JSON.parse('{"__proto__": {"path": "/secret"}}') as object;
    expect(await guard.run('read', own, () => 'ran')).toBe('ran');
  });

  it('that no rule can judge are an error', async () => {
    let deep: object = {};
    for (let i = 0; i < 300; i++) deep = { deep };
    const guard = guardOf(deny('args.x', 'y'));
    await expect(guard.run('t', deep, () => 'ran')).rejects.toThrow(TypeError);
    const wide = { list: Array.from({ length: 1_000_001 }, () => 1), more: {} };
    await expect(guard.run('t', wide, () => 'ran')).rejects.toThrow(TypeError);
    expect(guard.events.events).toEqual([]);
  });

  it('say the same as their copy, and something else after any change', () => {
    const values = fc.object({
      maxDepth: 3,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
    });
    fc.assert(
      fc.property(values, fc.string(), (args, name) => {
        const judged = judgedArguments(args);
        expect(sayTheSame(judged, args)).toBe(true);
        expect(() => JSON.stringify(shownToPeople(judged.args))).not.toThrow();
        expect(sayTheSame(judged, { ...args, [`more ${name}`]: 1 })).toBe(false);
      }),
    );
  });
});

describe('results', () => {
  const run = <R>(result: R): Promise<R> => guardOf(redact).run('find', {}, () => result);

  it('keep their type: texts, lists and plain objects', async () => {
    expect(await run('n 1234')).toBe('n [REDACTED]');
    expect(await run({ n: '1234', m: 1 })).toEqual({ n: '[REDACTED]', m: 1 });
    expect(await run(['1234'])).toEqual(['[REDACTED]']);
    const typed: { n: string } = await run({ n: 'x' });
    expect(typed.n).toBe('x');
  });

  it.each([
    ['a number', 12345],
    ['a number in an object', { n: 12345 }],
    ['a date', new Date('2024-01-01')],
    [
      'an object of a class',
      new (class {
        n = '1234';
      })(),
    ],
  ])('of %s that contracts left only text of are thrown, with that text', async (_name, result) => {
    const failure = await run(result as unknown).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ResultReplacedError);
    expect((failure as ResultReplacedError).text).toContain('[REDACTED]');
    expect((failure as ResultReplacedError).text).not.toMatch(/\d{4}/);
  });

  it('can be replaced by the caller', async () => {
    const options = { replaceText: (_: number, text: string) => text.length };
    expect(await guardOf(redact).run('find', {}, () => 12345, options)).toBe('[REDACTED]5'.length);
  });
});
