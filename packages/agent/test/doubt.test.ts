// The guard judges the tool's own arguments: arguments that two readers read differently are refused, and
// ordinary ones never are.
import { EventEmitter } from 'node:events';
import { createReadStream } from 'node:fs';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runsOf } from '../../../test/runs.ts';
import { judgedArguments } from '../src/guard/arguments.ts';
import { DeniedError, Guard, type GuardOptions, localApproval } from '../src/index.ts';
import { ordinaryArguments, ordinaryCommands } from './rules/sandbox/ordinary.ts';

const yamlOf = (contracts: string): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
${contracts}
`;
const noSecrets =
  '  - { id: no, type: pre, tool: "*", when: { args.path: { contains: secret } }, then: { effect: deny, message: "no" } }';
const guardOf = (options: GuardOptions = {}, contracts = noSecrets): Guard =>
  Guard.fromYaml(yamlOf(contracts), { openTelemetry: null, ...options });

type Fields = { [name: string]: unknown };
const secret = '/secret';
const hidden = (of: object, name: PropertyKey, value: unknown): object =>
  Object.defineProperty(of, name, { value, enumerable: false });

/** Ways to hold `secret` so that a look at the plain fields does not find it. */
const tricks: { readonly [name: string]: () => unknown } = {
  getter: () => ({
    get path() {
      return secret;
    },
  }),
  'getter that changes': () => {
    let reads = 0;
    return Object.defineProperty({}, 'path', { enumerable: true, get: () => (reads++ < 2 ? 'a' : secret) });
  },
  'unlisted field': () => hidden({ path: 'a' }, 'other', secret),
  'unlisted field over an inherited one': () => hidden({}, 'path', secret),
  'symbol field': () => ({ path: 'a', [Symbol('other')]: secret }),
  proxy: () => new Proxy({ path: 'a' } as Fields, { get: () => secret, ownKeys: () => [] }),
  'proxy of a list': () =>
    new Proxy(['a'], { get: (of, name) => (name === '0' ? secret : Reflect.get(of, name)) }),
  'object that inherits from a proxy': () => Object.create(new Proxy({}, { get: () => secret })),
  'own toJSON': () => ({ path: 'a', toJSON: () => ({ path: secret }) }),
  'own toString': () => ({ path: 'a', toString: () => secret }),
  'own valueOf': () => ({ path: 'a', valueOf: () => secret }),
  'own then': () => ({ path: 'a', then: (done: (value: unknown) => void) => done(secret) }),
  'own toPrimitive': () => ({ path: 'a', [Symbol.toPrimitive]: () => secret }),
  'class with toJSON': () =>
    new (class {
      readonly path = 'a';
      toJSON() {
        return secret;
      }
    })(),
  'class with toString': () =>
    new (class {
      toString() {
        return secret;
      }
    })(),
  'class with a getter': () =>
    new (class {
      get path() {
        return secret;
      }
    })(),
  'class with an iterator': () =>
    new (class {
      *[Symbol.iterator]() {
        yield secret;
      }
    })(),
  'emitter with a getter': () =>
    new (class extends EventEmitter {
      get path() {
        return secret;
      }
    })(),
  'inherited data': () => Object.create({ path: secret }),
  'map of a class': () =>
    new (class extends Map<string, string> {
      override get() {
        return secret;
      }
    })([['path', 'a']]),
  'map with a field': () => Object.assign(new Map([['path', 'a']]), { other: secret }),
  'set with a method': () => Object.assign(new Set(['a']), { has: () => secret }),
  'date with toJSON': () => Object.assign(new Date(0), { toJSON: () => secret }),
  'address with toString': () => Object.assign(new URL('https://a.example'), { toString: () => secret }),
  'what inherits from addresses': () => Object.create(URL.prototype),
  'boxed text with toString': () => Object.assign(new String('a'), { toString: () => secret }),
  'boxed text of a class': () =>
    new (class extends String {
      override toString() {
        return secret;
      }
    })('a'),
  'list with a hole': () => {
    const list = ['a', 'b', 'c'];
    delete list[1];
    return list;
  },
  'list with a field': () => Object.assign(['a'], { path: secret }),
  'list with a getter': () => Object.defineProperty(['a'], 0, { get: () => secret }),
  'list with a hole and a field': () => {
    const list = Object.assign(['a', 'b'], { path: secret });
    delete list[0];
    return list;
  },
  'list with another iterator': () => Object.assign(['a'], { [Symbol.iterator]: () => [secret].values() }),
  'list of a class': () => new (class Paths extends Array<string> {})('a', 'b'),
  'bytes with a field': () => Object.assign(Buffer.from('a'), { path: secret }),
  'bytes with toString': () => hidden(Buffer.from('a'), 'toString', () => secret),
  'shared memory': () => new Uint8Array(new SharedArrayBuffer(4)),
  promise: () => Promise.resolve(secret),
  'error with a getter': () => Object.defineProperty(new Error('a'), 'path', { get: () => secret }),
  request: () => new Request(`https://a.example${secret}`),
  headers: () => new Headers({ path: secret }),
  generator: () => [secret].values(),
};

/** Plain JSON, with one value put at a random place in it. */
const around = (value: () => unknown): fc.Arbitrary<Fields> =>
  fc
    .record({
      json: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 }),
      way: fc.array(fc.constantFrom('path', 'list', 'map', 'deep'), { maxLength: 4 }),
    })
    .map(({ json, way }) => {
      let at: unknown = value();
      for (const step of way) {
        if (step === 'list') at = ['x', at];
        else if (step === 'map') at = new Map([['path', at]]);
        else at = { ...json, [step]: at };
      }
      return { ...json, input: at };
    });

const ran = async (guard: Guard, args: object): Promise<unknown> =>
  guard.run('read', args, () => 'ran').catch((failure: unknown) => failure);

describe('arguments that say several things', () => {
  it.each(Object.entries(tricks))('are refused wherever they stand: %s', async (_name, trick) => {
    const guard = guardOf(
      { sessionId: 's' },
      `${noSecrets}\n  - { id: l, type: session, limits: { max_attempts: 100000 }, then: { effect: deny, message: "l" } }`,
    );
    await fc.assert(
      fc.asyncProperty(around(trick), async (args) => {
        expect(await ran(guard, args)).toMatchObject({ name: 'DeniedError', contract: 'arguments_in_doubt' });
      }),
      { numRuns: 25 },
    );
    const record = guard.events.last();
    expect(record.action).toBe('call_denied');
    expect(record.reason).toMatch(/^The arguments cannot be judged: args\.input/);
    expect(() => JSON.stringify(record)).not.toThrow();
  });

  it.each(Object.entries(tricks))('are refused as the arguments themselves: %s', async (_name, trick) => {
    const args = trick() as object;
    if (Array.isArray(args)) await expect(ran(guardOf(), args)).resolves.toBeInstanceOf(TypeError);
    else expect(await ran(guardOf(), args)).toMatchObject({ contract: 'arguments_in_doubt' });
  });

  it('run no code of their own while they are looked at', async () => {
    const touched: string[] = [];
    const spy = (name: string) => () => touched.push(name);
    const args = {
      proxy: new Proxy({}, new Proxy({}, { get: (_, trap) => touched.push(String(trap)) && undefined })),
      list: Object.defineProperty([1], 0, { get: spy('item') }),
      bytes: Object.defineProperty(Buffer.from('a'), 'byteLength', { get: spy('length') }),
      stream: Object.defineProperty(new PassThrough(), 'path', { get: spy('stream') }),
      own: {
        toJSON: spy('json'),
        toString: spy('string'),
        then: spy('then'),
        [Symbol.iterator]: spy('iterator'),
      },
      error: Object.defineProperty(new Error('a'), 'message', { get: spy('message') }),
    };
    expect(await ran(guardOf(), args)).toBeInstanceOf(DeniedError);
    expect(touched).toEqual([]);
  });

  it('are told of, not refused, where a guard only observes', async () => {
    const guard = guardOf({ mode: 'observe', sessionId: 's' });
    expect(await ran(guard, { path: 'a', toJSON: () => 'b' })).toBe('ran');
    const actions = guard.events.events.map(({ action, decision_name }) => `${action} ${decision_name}`);
    expect(actions).toEqual(['call_would_deny arguments_in_doubt', 'call_executed null']);
  });

  it('count as an attempt, and no hook and no person sees them', async () => {
    const asked: unknown[] = [];
    const hook = { run: (call: unknown) => void asked.push(call) };
    const guard = guardOf({
      hooks: [hook],
      approvals: localApproval(async (request) => Boolean(asked.push(request))),
    });
    expect(await ran(guard, { path: new Proxy({}, {}) })).toBeInstanceOf(DeniedError);
    expect(asked).toEqual([]);
    expect(guard.events.last().session_attempt_count).toBe(1);
    expect(() => guard.evaluate('read', { path: new Proxy({}, {}) })).toThrow(/args\.path is a proxy/);
  });

  it.each([
    ['bytes', Buffer.from('a'), 'args.value has fields other than its bytes'],
    ['a moment', new Date(0), 'args.value has fields other than its content'],
  ])('of %s with a field name it', (_, value, doubt) => {
    expect(judgedArguments({ value: Object.assign(value, { secret: 'a' }) }).doubt).toBe(doubt);
  });
});

describe('arguments that say one thing', () => {
  it('are never in doubt when they are JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (args) => {
        const parsed = JSON.parse(JSON.stringify(args)) as Fields;
        const { args: judged, doubt } = judgedArguments(parsed);
        expect(doubt).toBeNull();
        expect(JSON.stringify(judged)).toBe(JSON.stringify(parsed));
      }),
      { numRuns: runsOf(500) },
    );
    const names =
      '{"toString":"a","then":1,"__proto__":{"constructor":[]},"hasOwnProperty":null,"toJSON":{}}';
    expect(judgedArguments(JSON.parse(names) as object).doubt).toBeNull();
  });

  it('of ordinary calls run', async () => {
    const calls = [...ordinaryCommands.map((command) => ({ command })), ...ordinaryArguments];
    expect(calls.length).toBeGreaterThan(100);
    const guard = guardOf();
    for (const [i, args] of calls.entries())
      expect(await guard.run('t', args, (seen) => seen, { sessionId: `s${i}` })).toBe(args);
  });

  it.each<[string, () => unknown]>([
    [
      'fields of a class',
      () =>
        new (class Edit {
          readonly old = 'a';
          apply() {}
        })(),
    ],
    [
      'fields of an old-style class',
      () =>
        Reflect.construct(
          Object.assign(function Old(this: Fields) {
            this.a = 1;
          }),
          [],
        ),
    ],
    ['an object without a prototype', () => Object.assign(Object.create(null), { path: 'a' })],
    ['a setter', () => ({ set path(_: string) {} })],
    ['a frozen list', () => Object.freeze(['a'])],
    [
      'values of another realm',
      () =>
        runInNewContext(
          '({ a: [1, { b: new Map([["c", new Date(0)]]) }], e: new TypeError("x"), u: new Uint8Array(2) })',
        ),
    ],
    ['a structured clone', () => structuredClone({ a: [1, new Set([1])] })],
    [
      'an error of the system',
      () => Object.assign(new Error('no'), { code: 'ENOENT', cause: new TypeError('why') }),
    ],
    [
      'bytes',
      () => [
        Buffer.from('a'),
        new Float64Array([Number.NaN, 0]),
        new DataView(new ArrayBuffer(2)),
        new ArrayBuffer(3),
      ],
    ],
    ['addresses and patterns', () => [new URL('https://a.example'), new URLSearchParams('a=b'), /a/g]],
    [
      'signals and emitters',
      () => [
        AbortSignal.timeout(10),
        AbortSignal.any([]),
        new AbortController(),
        new EventEmitter(),
        new Blob(['a']),
      ],
    ],
    [
      'streams',
      () => [new PassThrough(), new Socket(), new ReadableStream(), new TransformStream(), process.stdout],
    ],
    ['functions', () => [() => 1, async () => 1, class {}]],
    ['boxed values', () => [new String('a'), new Number(1), Object(1n)]],
    [
      'pairs',
      () =>
        new Map<unknown, unknown>([
          [1, 'a'],
          [{}, 'b'],
        ]),
    ],
  ])('run: %s', async (_name, value) => {
    const args = { input: value() };
    expect(judgedArguments(args).doubt).toBeNull();
    expect(await guardOf().run('read', args, (seen) => seen)).toBe(args);
  });

  it('of a stream are judged with the texts among its fields', async () => {
    const stream = createReadStream(import.meta.filename);
    const guard = guardOf(
      {},
      noSecrets.replace('args.path', 'args.body.path').replace('secret', 'doubt.test'),
    );
    expect(await ran(guard, { body: stream })).toMatchObject({ contract: 'no' });
    const other = createReadStream(import.meta.filename);
    const args = { body: stream };
    const swap = () => {
      args.body = other;
      return undefined;
    };
    const swapping = guardOf({ hooks: [{ run: swap }] });
    expect(await ran(swapping, args)).toMatchObject({ contract: 'arguments_changed' });
    stream.destroy();
    other.destroy();
  });

  it('too many to list are an error at once', async () => {
    await expect(ran(guardOf(), { list: new Array(4e9) })).resolves.toBeInstanceOf(TypeError);
  });
});

it('a change in any turn before the tool runs is seen: the tool gets what was judged', async () => {
  let denied = 0;
  const guard = guardOf();
  for (let turn = 0; turn < 150; turn++) {
    const args = { path: 'a' };
    const call = guard
      .run('read', args, ({ path }) => path)
      .catch((failure: DeniedError) => failure.contract);
    for (let i = 0; i < turn; i++) await null;
    args.path = secret;
    const answer = await call;
    if (answer === 'arguments_changed') denied++;
    else expect(answer).toBe('a');
  }
  expect(denied).toBeGreaterThan(0);
});
