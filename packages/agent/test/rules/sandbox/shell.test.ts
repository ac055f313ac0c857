// The sandbox beside real shells: what it lets pass reads and writes nothing outside, whatever the syntax. SANDBOX_RUNS
// and SANDBOX_SEED search longer, or elsewhere.
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { rowsOfRun } from '../../../../../test/runs.ts';
import { agentFiles } from '../../../src/guard/files.ts';
import { readCommand } from '../../../src/rules/sandbox/shell.ts';
import { commandLine, gibberish } from './generator.ts';
import { leaves } from './sandboxes.ts';
import { createWorld } from './world.ts';

const worlds = { files: createWorld(true), text: createWorld(false) };
afterAll(() => {
  for (const world of Object.values(worlds)) world.remove();
});

const numRuns = Number(process.env.SANDBOX_RUNS ?? 1_000);
const seed = Number(process.env.SANDBOX_SEED ?? 20_261);
const sample = (lines: fc.Arbitrary<string>, factor = 1): string[] => [
  ...new Set(fc.sample(lines, { numRuns: factor * numRuns, seed })),
];

describe.each(['files', 'text'] as const)('a sandbox that judges by %s', (by) => {
  const world = worlds[by];
  const box = `within: [${JSON.stringify(world.work)}]`;
  const options = by === 'files' ? { files: agentFiles(world.work) } : { cwd: world.work };
  const lines = sample(commandLine(world, by === 'files'));
  const refused = lines.filter((command) => leaves(box, { command }, options));
  const passed = lines.filter((command) => !refused.includes(command));

  it.each(rowsOfRun(['bash', 'dash'], 1))('lets nothing pass that %s takes outside', (shell) => {
    const found = world.run(shell, passed);
    expect(passed.length).toBeGreaterThan(50);
    expect(passed.filter((_, i) => found[i] !== '')).toEqual([]);
  });

  it('is tried with command lines that do get outside', () => {
    const found = world.run('bash', refused.slice(0, 400));
    expect(found.filter((what) => what.includes('read')).length).toBeGreaterThan(20);
    expect(found.filter((what) => what.includes('wrote')).length).toBeGreaterThan(0);
  });
});

describe('the reader of words', () => {
  it('reads what bash reads, and refuses what bash would do more with', () => {
    const lines = sample(gibberish, 4);
    const read = lines.flatMap((line) => {
      const words = readCommand(line);
      const isPlain = words?.every(({ isGlob }) => !isGlob) && !words[0]?.text.includes('=');
      return words && isPlain ? [{ line, words: words.map(({ text }) => text) }] : [];
    });
    const given = worlds.text.words(read.map(({ line }) => line));
    const bash = read.map((one, i) => ({ ...one, words: given[i] ?? null }));
    expect(bash.filter((one, i) => JSON.stringify(one) !== JSON.stringify(read[i]))).toEqual([]);
    expect(read.length).toBeGreaterThan(numRuns / 2);
  });
});
