// docs/promises.md and the code: each promise has a number of its own, an existing test, and a comment near its
// mechanism that cites it; no comment cites a number that is not there. A promise that is tested at night only says so.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = read('docs/promises.md');

interface Promised {
  readonly number: string;
  readonly text: string;
  readonly tests: readonly string[];
}

/** The rows of the page's tables: a number, the promise, its tests. */
const promises: readonly Promised[] = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| Number |'))
  .map((line) => {
    const [, number = '', text = '', tests = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return { number, text, tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path) };
  });

/** The lines of comments in product code, with the numbers that they cite. */
const citations = ['src', 'actors', 'adapters', 'packages/agent/src', 'scripts', 'deploy'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => /\.(tsx?|mjs|conf)$/.test(path))
    .flatMap((path) =>
      read(path)
        .split('\n')
        .filter((line) => /^\s*(\/\/|\/?\*|#)/.test(line))
        .flatMap((line) => line.match(/\bP[1-9]\d*\b/g) ?? [])
        .map((number) => ({ path, number })),
    ),
);

it('numbers each promise once', () => {
  const numbers = promises.map(({ number }) => number);
  expect(numbers.length).toBeGreaterThan(50);
  expect(numbers.filter((number) => !/^P[1-9]\d*$/.test(number))).toEqual([]);
  expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
});

// A scenario of the bench measures; a figure is no test.
const isTest = (path: string): boolean => /(^|\/)test\//.test(path);

/** The files of a path, in which a `*` stands for a part of the file's name. */
function filesOf(path: string): readonly string[] {
  const [start = '', end] = path.split('*');
  if (end === undefined)
    return statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true ? [path] : [];
  return readdirSync(join(root, dirname(path)))
    .filter((name) => name.startsWith(basename(start)) && name.endsWith(end))
    .map((name) => join(dirname(path), name));
}

/** True if each test of a file waits for the night: `runIf(isNightly)`, `skipIf(!isNightly …)`, or `itAtNight`. */
function waitsForNight(file: string): boolean {
  const nightMark = /(?:\.runIf\(isNightly|\.skipIf\(!isNightly|\bitAtNight)\b/;
  const text = read(file);
  const withoutSuites = text.replace(
    /^describe\.(?:runIf\(isNightly|skipIf\(!isNightly)[\s\S]*?^\}\);$/gm,
    '',
  );
  const testsPerCommit = /(?<!\.)\b(?:it|test)(?:\(|\.(?!runIf\(isNightly|skipIf\(!isNightly)\w+\()/;
  return nightMark.test(text) && !testsPerCommit.test(withoutSuites);
}

// A folder would still be there without the test that proves the promise.
it('gives each promise at least one existing test, by its file', () => {
  const missing = promises.flatMap(({ number, tests }) =>
    tests.filter((path) => filesOf(path).length === 0).map((path) => `${number}: ${path}`),
  );
  expect(missing).toEqual([]);
  expect(promises.filter(({ tests }) => !tests.some(isTest)).map(({ number }) => number)).toEqual([]);
});

it('gives each promise a test that runs with each commit, or says that it is tested at night', () => {
  expect(waitsForNight('test/cluster/prometheus.test.ts')).toBe(true);
  expect(waitsForNight('test/cluster/alerts.test.ts')).toBe(false);
  const unseen = promises.filter(
    ({ text, tests }) =>
      !/\bat night\b/i.test(text) && tests.filter(isTest).flatMap(filesOf).every(waitsForNight),
  );
  expect(unseen.map(({ number }) => number)).toEqual([]);
});

it('has a comment in the code that cites each promise', () => {
  const cited = new Set(citations.map(({ number }) => number));
  expect(promises.map(({ number }) => number).filter((number) => !cited.has(number))).toEqual([]);
});

it('has each number that a comment cites', () => {
  const numbers = new Set(promises.map(({ number }) => number));
  const unknown = citations.filter(({ number }) => !numbers.has(number));
  expect(unknown).toEqual([]);
});
