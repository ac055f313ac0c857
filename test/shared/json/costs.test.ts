// Texts that are no JSON cost as little as texts that are. Each of these took minutes to hours when the readers of
// numbers tried every quotation mark of a text without an end: the bound of seconds needs no quiet machine.
import { expect, it } from 'vitest';
import { readJson, readLooseJson } from '../../../src/shared/json/json.ts';
import { parseSpans, scanList } from '../../../src/shared/json/scan.ts';

const refused = expect.objectContaining({ code: 'invalid_json' });
const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'utf8');
const secondsOf = (run: () => void): number => {
  const start = performance.now();
  run();
  return (performance.now() - start) / 1000;
};

it.each([
  ['exactly', (bytes: Uint8Array) => readJson(bytes, true)],
  ['loosely', readLooseJson],
])('a text without an end behind a long number is refused at once, read %s', (_, read) => {
  const bytes = bytesOf(`{"a":1234567890123456,"${'\\"'.repeat(400_000)}`);
  const seconds = secondsOf(() => expect(() => read(bytes)).toThrowError(refused));
  expect(seconds).toBeLessThan(5);
});

it.each(['[00000000000000000001]', '{12345678901234567890:1}', '[-012345678901234567]'])(
  '%s is no JSON, although digits in quotation marks would be',
  (text) => {
    expect(() => readJson(bytesOf(text), true)).toThrowError(refused);
    expect(() => readLooseJson(bytesOf(text))).toThrowError(refused);
  },
);

it('a text in which a line break is escaped is refused at once beside NaN', () => {
  const bytes = bytesOf(`{"events":[],"agent_manifest":"NaN${'\\"'.repeat(400_000)}\\\n"}`);
  const limits = { maxValues: 100, maxElements: 10 };
  const scan = scanList(bytes, { list: 'events', other: 'agent_manifest' }, limits);
  let step = scan.next();
  while (!step.done) step = scan.next();
  const { other } = step.value;
  if (!other) throw new Error('the scan contains no manifest');
  const seconds = secondsOf(() => expect(() => parseSpans(bytes, [other])).toThrowError(refused));
  expect(seconds).toBeLessThan(5);
});
