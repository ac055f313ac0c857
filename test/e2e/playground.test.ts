// The playground of the real process: what ends an evaluation, what waits, what is refused, and what nobody else
// notices of it.
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileBundles } from '../../packages/agent/test/rules/bundle/hostile.ts';
import { isNightly, runsOf } from '../runs.ts';
import { HubProcess } from './process.ts';

const secret = 'open-sesame-0123456789-open-sesame';
const route = '/api/v1/bundles/evaluate';
const head =
  'apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: a}\ndefaults: {mode: enforce}\ncontracts:\n';
const contract = (id: string, when: string, message = 'm'): string =>
  `  - {id: ${id}, type: pre, tool: "*", when: ${when}, then: {effect: deny, message: ${JSON.stringify(message)}}}\n`;

/**
 * Within every bound of the language, and more than ten seconds of work: 100 patterns that follow hundreds of ways at
 * once.
 */
function exhausting(): { yaml_content: string; tool_name: string; tool_args: { x: string } } {
  const pattern = JSON.stringify('[ab]*a[ab]{990}[ab]{890}c');
  const when = `{args.x: {matches_any: [${Array(10).fill(pattern).join(', ')}]}}`;
  const yaml = head + Array.from({ length: 10 }, (_, i) => contract(`c${i}`, when)).join('');
  let x = 'c';
  for (let i = 0, seed = 1; i < 9_990; i++) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    x += seed & 65536 ? 'a' : 'b';
  }
  return { yaml_content: yaml, tool_name: 't', tool_args: { x } };
}

describe('the playground', () => {
  const hub = new HubProcess({ SECRET_KEY: secret, REEVE_E2E_SECRET: 'also-not-for-you' });
  let cookie = '';
  let threadsAtFirst: number | null = null;
  /** Threads of the hub; null where the system does not tell. */
  const threads = (): number | null => {
    try {
      return readdirSync(`/proc/${hub.child?.pid}/task`).length;
    } catch {
      return null;
    }
  };
  beforeAll(async () => {
    await hub.start();
    cookie = await hub.admin();
    await hub.call('GET', '/api/v1/bundles', { cookie });
    threadsAtFirst = threads();
  });
  afterAll(async () => {
    await hub.remove();
  });

  const evaluate = async (body: object) => {
    const started = performance.now();
    const answer = await hub.call('POST', route, { cookie, body });
    const ended = performance.now();
    return { ...answer, ended, ms: ended - started };
  };
  const simple = (when: string, message?: string) =>
    evaluate({ yaml_content: head + contract('c', when, message), tool_name: 't', tool_args: {} });

  // Each keeps a processor busy for five seconds: four at night, and one per commit. The pool's own tests fill all
  // places for a fraction of a second.
  const count = runsOf(4, 1);
  it(`ends evaluations (${count} at once) at five seconds, and their threads with them; others go on`, {
    timeout: 60_000,
  }, async () => {
    const hostile = exhausting();
    const running = Array.from({ length: count }, () => evaluate(hostile));
    const first = Promise.race(running);
    // One after another: on a thread that evaluates, the second would be answered after an evaluation.
    for (let n = 0; n < 10; n++)
      expect((await hub.call('GET', '/api/v1/bundles', { cookie })).status).toBe(200);
    const othersEnded = performance.now();
    if (threadsAtFirst !== null) await expect.poll(threads).toBeGreaterThanOrEqual(threadsAtFirst + count);
    if (isNightly) {
      const fifth = await simple('{args.a: {exists: true}}');
      expect([fifth.status, fifth.body.detail]).toEqual([
        429,
        'Too many concurrent evaluations. Try again shortly.',
      ]);
      expect(fifth.headers.get('retry-after')).toBeNull();
      expect(fifth.ms).toBeGreaterThan(950);
      expect(fifth.ended).toBeLessThan((await first).ended);
    }
    for (const answer of await Promise.all(running)) {
      expect([answer.status, answer.body.detail]).toEqual([422, 'Evaluation timed out']);
      expect(answer.ms).toBeGreaterThan(4_990);
      expect(answer.ms).toBeLessThan(12_000);
    }
    // An ended thread is gone, and another takes its place when one is needed.
    if (threadsAtFirst !== null) await expect.poll(threads).toBe(threadsAtFirst);
    expect((await simple('{args.a: {exists: false}}')).body.verdict).toBe('deny');
    if (threadsAtFirst !== null) expect(threads()).toBe(threadsAtFirst + 1);
    expect(othersEnded).toBeLessThan((await first).ended);
  });

  it('lets one that waits run when a place is free within the second', async () => {
    const atOnce = (count: number) =>
      Promise.all(Array.from({ length: count }, () => simple('{args.a: {exists: false}}')));
    // Each has a place of its own: a thread may take longer than the second to start.
    await atOnce(4);
    const answers = await atOnce(8);
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200));
  });

  it('never finds a variable of the process, by selector or by placeholder', async () => {
    for (const name of ['SECRET_KEY', 'REEVE_E2E_SECRET', 'PATH', 'DATA_DIR', 'HOME', 'secret_key', 'A.B']) {
      expect((await simple(`{env.${name}: {exists: true}}`)).body.verdict).toBe('allow');
      const shown = await simple(`{env.${name}: {exists: false}}`, `it is {env.${name}}`);
      expect(shown.body.contracts_evaluated[0].message).toBe(`it is {env.${name}}`);
      expect(JSON.stringify(shown.body)).not.toMatch(/open-sesame|also-not/);
    }
    for (const test of ['{matches: "."}', '{not_equals: x}', '{not_in: [x]}', '{contains: ""}']) {
      expect((await simple(`{env.SECRET_KEY: ${test}}`)).body.verdict).toBe('allow');
    }
    // A condition that faults fires: so a caller could detect that the variable exists.
    expect((await simple('{env.SECRET_KEY: {gt: 1}}')).body.verdict).toBe('allow');
  });

  it.each([
    [
      '11 documents',
      Array(11)
        .fill(head + contract('c', '{args.a: {exists: true}}'))
        .join('---\n'),
    ],
    [
      '101 contracts',
      head + Array.from({ length: 101 }, (_, i) => contract(`c${i}`, '{args.a: {exists: true}}')).join(''),
    ],
  ])('refuses %s as a validation error of the YAML', async (_name, yaml_content) => {
    const answer = await evaluate({ yaml_content, tool_name: 't', tool_args: {} });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc: ['body', 'yaml_content'], msg: expect.any(String) }]);
  });

  it('refuses every hostile bundle with a clear answer, soon, and lives on', {
    timeout: 120_000,
  }, async () => {
    for (const [name, yaml_content] of hostileBundles) {
      const answer = await evaluate({ yaml_content, tool_name: 't', tool_args: {} });
      // Two documents are no problem here; that the second is no bundle is.
      expect([name, answer.status === 422 || answer.status === 400]).toEqual([name, true]);
      const said = JSON.stringify(answer.body.detail);
      expect([name, said.length > 20, /\.[jt]s:\d|node_modules/.test(said)]).toEqual([name, true, false]);
      expect([name, answer.ms < 12_000]).toEqual([name, true]);
    }
    expect((await simple('{args.a: {exists: false}}')).body.verdict).toBe('deny');
  });

  it('takes 10 documents, and 100 contracts in all', async () => {
    const layer = (i: number) =>
      head +
      Array.from({ length: 10 }, (_, j) => contract(`c${i}-${j}`, '{args.a: {exists: true}}')).join('');
    const yaml_content = Array.from({ length: 10 }, (_, i) => layer(i)).join('---\n');
    const answer = await evaluate({ yaml_content, tool_name: 't', tool_args: {} });
    expect(answer.body.contracts_evaluated).toHaveLength(100);
  });

  it('tells only place and sentence of a field that does not fit', async () => {
    const answer = await evaluate({ yaml_content: 5, tool_name: '', tool_args: [] });
    expect(answer.status).toBe(422);
    expect(answer.body.detail.length).toBeGreaterThan(2);
    for (const problem of answer.body.detail) expect(Object.keys(problem).sort()).toEqual(['loc', 'msg']);
  });
});
