// The rules by which `npm run measure` counts long functions, records and the sandbox.
import { expect, it } from 'vitest';
import { FileMeasures } from '../../scripts/file-measures.ts';
import { isSandboxCode, recordNouns, recordNounsText } from '../../scripts/rooms.ts';

const lines = (line: string): string => `${line}\n`.repeat(70);
const longFunctionsIn = (text: string): number =>
  new FileMeasures('src/agent/agents.ts', text).longFunctions.length;

it('a function over 60 lines is counted, also one whose body is an object with methods', () => {
  expect(longFunctionsIn(`const f = () => {\n${lines('f();')}};`)).toBe(1);
  expect(longFunctionsIn(`const f = () => ({\n${lines('a: 1,')}b() {},\n});`)).toBe(1);
  expect(longFunctionsIn(`const f = () => ({\n${lines('a: 1,')}b: () => 1,\n});`)).toBe(1);
  expect(longFunctionsIn(`const f = () => [\n${lines('1,')}{ b: { c: async () => 1 } },\n];`)).toBe(1);
  expect(longFunctionsIn(`const f = () => ({\n${lines('a: 1,')}...{ b() {} },\n});`)).toBe(1);
});

it('a function whose body is a table without methods is not counted, nor is a class of short methods', () => {
  expect(longFunctionsIn(`const f = (g) => ({\n${lines('a: g(() => 1),')}b: [g],\n...g,\n});`)).toBe(0);
  expect(longFunctionsIn(`const f = (g) => [\n${lines('{ a: g },')}];`)).toBe(0);
  expect(longFunctionsIn(`class F {\n${lines('a() {}')}}`)).toBe(0);
});

it('a noun without declared fields is named, with the count of those that have some', () => {
  const nouns = recordNouns([
    { file: 'src/key/record.ts', text: "export const keyRecord = record('keys', {});" },
    { file: 'src/audit/record.ts', text: 'export type Entry = object;' },
    { file: 'src/audit/record/entry.ts', text: "record(\n  'audit', {});" },
    { file: 'src/event/record.ts', text: "read.record('a')" },
    { file: 'src/shared/record.ts', text: "record('a')" },
    { file: 'src/event/port.ts', text: "record('a')" },
  ]);
  expect(nouns).toEqual({ declaring: ['audit', 'key'], others: ['event'] });
  expect(recordNounsText(nouns)).toBe('2 of 3 (none: event)');
  expect(recordNounsText({ ...nouns, others: [] })).toBe('2 of 2');
});

it('the sandbox is counted with the code that reads profiles, without the data of programs', () => {
  const sandbox = 'packages/agent/src/rules/sandbox';
  const files = ['command', 'profiles/commands', 'profiles/check', 'profiles/git', 'profiles/wrappers'];
  expect(files.filter((file) => isSandboxCode(`${sandbox}/${file}.ts`))).toEqual(files.slice(0, 3));
  expect(isSandboxCode('packages/agent/src/rules/redact.ts')).toBe(false);
});
