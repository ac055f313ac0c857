// The replayer's threads: a portion ends when its time is over, a document that takes too long ends its thread alone,
// and nothing of this process is seen.
import { afterAll, expect, it } from 'vitest';
import { systemClock } from '../../../../adapters/node/clock.ts';
import { createReplayer, type ReplayerOptions } from '../../../../adapters/node/evaluator/replayer.ts';
import type { Replayer } from '../../../../src/evaluation/port/replayer.ts';
import type { ReplayCall } from '../../../../src/evaluation/rules/replay-call.ts';
import { bundledThread } from '../../../compiled.ts';

const entry = bundledThread('worker');
const made: Replayer[] = [];
const make = (options: Partial<ReplayerOptions> = {}): Replayer => {
  const replayer = createReplayer({
    clock: systemClock,
    accepted: {},
    ...(entry ? { entry } : {}),
    ...options,
  });
  made.push(replayer);
  return replayer;
};
afterAll(() => Promise.all(made.map((replayer) => replayer.close())));

const document = (when: string, more = '') => `apiVersion: service/v1
kind: ContractBundle
metadata: {name: b}
defaults: {mode: enforce}
contracts:
  - {id: r, type: pre, tool: "*", when: {${when}}, then: {effect: deny, message: "m"}}
${more}`;
const documents = (candidate: string, base: string | null = null) => ({
  base,
  candidate,
  toolArguments: {},
  words: { tools: [], selectors: [], operators: [] },
});
const calls = (count: number): ReplayCall[] =>
  Array.from({ length: count }, (_, amount) => ({
    tool: 'pay',
    args: { amount },
    environment: 'production',
    principal: null,
    missing: [],
    cut: false,
  }));

it('judges calls by both documents, in their order', async () => {
  const replayer = make();
  const both = documents(document('args.amount: {gt: 1}'), document('args.amount: {gt: 0}'));
  const { judged } = await replayer.judge('t', both, calls(3), 5000);
  expect(judged.map(({ base, candidate }) => [base.decision, candidate.decision])).toEqual([
    ['allow', 'allow'],
    ['block', 'allow'],
    ['block', 'block'],
  ]);
  const post =
    '  - {id: p, type: post, tool: "*", when: {output.text: {contains: x}}, then: {effect: warn, message: m}}\n';
  const outline = await replayer.outline('t', documents(document('args.a: {exists: true}', post)));
  expect(outline).toMatchObject({ name: 'b', skipped: { base: 0, candidate: 1 } });
});

it('gives what was judged when the time of a portion is over', async () => {
  const { judged } = await make().judge('t', documents(document('args.amount: {gt: 1}')), calls(100), 0);
  expect(judged.length).toBeLessThan(100);
});

it("sees nothing of the hub's environment, and says that it is not certain for that reason", async () => {
  const { judged } = await make().judge('t', documents(document('env.PATH: {exists: true}')), calls(1), 5000);
  expect(judged).toMatchObject([{ candidate: { decision: 'allow', doubts: ['env'] } }]);
});

it('says which document cannot be evaluated', async () => {
  const [good, bad] = [document('args.a: {exists: true}'), document('args.a: {matches: "("}')];
  const replayer = make();
  await expect(replayer.outline('t', documents(bad, good))).rejects.toMatchObject({
    code: 'unprocessable',
    message: expect.stringContaining('The hub cannot evaluate the document of the replay'),
  });
  await expect(replayer.outline('t', documents(good, bad))).rejects.toMatchObject({
    message: expect.stringContaining('The hub cannot evaluate the base of the replay'),
  });
});

it('ends a thread that takes too long', async () => {
  const slow = make({ limitMs: 1 });
  const rules = Array.from(
    { length: 90 },
    (_, i) =>
      `  - {id: x${i}, type: pre, tool: "*", when: {args.a: {matches: "(a|b|c){1,200}x{1,${i + 1}}"}}, then: {effect: deny, message: m}}`,
  );
  await expect(
    slow.judge('t', documents(document('args.a: {exists: true}', rules.join('\n'))), calls(1000), 60_000),
  ).rejects.toMatchObject({ code: 'unprocessable', message: expect.stringContaining('took too long') });
});
