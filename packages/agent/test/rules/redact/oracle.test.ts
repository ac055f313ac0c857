// The engine beside an earlier one (oracle/): it may miss few secrets more, and touches no more ordinary texts.
import { expect, it } from 'vitest';
import { runsOf } from '../../../../../test/runs.ts';
import { redactArgs, redactText } from '../../../src/rules/redact.ts';
import { ordinaryTexts, secretArguments, secretNames, secretTexts } from './corpus.ts';
import { ordinaryText } from './generator.ts';
import * as oracle from './oracle/redact.ts';

const isVisible = (hidden: string, secrets: readonly string[]): boolean =>
  secrets.some((secret) => hidden.includes(secret));

it('hides 99 of 100 texts whose secrets the earlier engine hid', () => {
  const before = secretTexts.filter(({ text, secrets }) => !isVisible(oracle.redactText(text), secrets));
  const visible = before.filter(({ text, secrets }) => isVisible(redactText(text), secrets));
  expect(before.length).toBeGreaterThan(1500);
  expect(visible.length / before.length).toBeLessThan(0.01);
});

it.each(['(abc', '{x9!kP', 'two words', 'true', '12345', 'a"b c', "it's 1"])(
  'hides %j in the same lists',
  (value) => {
    for (const list of [
      ['--password', value, 'x'],
      ['authorization', value],
      ['-p', value, 'x'],
      ['-n', value, 'x'],
      ['accept', value],
    ])
      expect(redactArgs(list)).toEqual(oracle.redactArgs(list));
  },
);

it('hides the same arguments', () => {
  for (const name of secretNames)
    for (const args of [...secretArguments(name), { [name]: 5 }, { [name]: false }, { x: [[name, 5]] }])
      expect(redactArgs(args)).toEqual(oracle.redactArgs(args));
});

const texts = runsOf(20_000, 200);

it(`touches no more of ${texts} generated ordinary texts, and of the corpus none`, () => {
  const count = { now: 0, before: 0 };
  for (let seed = 1; seed <= texts; seed++) {
    const text = ordinaryText(seed);
    if (redactText(text) !== text) count.now++;
    if (oracle.redactText(text) !== text) count.before++;
  }
  expect(count.now).toBeLessThanOrEqual(count.before);
  // Some stay and some do not, or the comparison says nothing.
  expect(count.before).toBeGreaterThan(texts / 50);
  expect(count.now).toBeLessThan(texts / 5);
  expect(ordinaryTexts.filter((text) => redactText(text) !== text)).toEqual([]);
});
