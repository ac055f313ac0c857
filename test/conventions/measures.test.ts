// The rule by which `npm run measure` counts long functions.
import { expect, it } from 'vitest';
import { FileMeasures } from '../../scripts/file-measures.ts';

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
