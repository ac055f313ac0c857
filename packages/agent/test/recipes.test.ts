// Every recipe of docs/recipes loads, is clean, and does what its cases say: each contract fires, each condition holds,
// and ordinary calls pass.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintBundle } from '../src/rules/bundle/lint.ts';
import { compileBundle } from '../src/rules/evaluate/compile.ts';
import { readCases, runCase } from '../src/rules/testing/cases.ts';
import { coverageOf } from '../src/rules/testing/coverage.ts';

const docs = join(import.meta.dirname, '../../../docs');
const folder = join(docs, 'recipes');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const files = readdirSync(folder);
const recipes = files
  .filter((name) => !name.endsWith('.cases.yaml'))
  .map((name) => name.replace(/\.yaml$/, ''));

/** Findings that released clients never count: a recipe means tools that it cannot name. */
const accepted = new Set(['glob-key']);

it('are fifteen, each with its cases and a line in docs/recipes.md', () => {
  expect(recipes).toHaveLength(15);
  expect(files).toHaveLength(30);
  const page = readFileSync(join(docs, 'recipes.md'), 'utf8');
  for (const name of recipes) {
    expect(page).toContain(`(recipes/${name}.yaml)`);
    expect(page).toContain(`(recipes/${name}.cases.yaml)`);
  }
});

describe.each(recipes)('%s', (name) => {
  const yaml = read(`${name}.yaml`);
  const { contracts, cases } = readCases(read(`${name}.cases.yaml`));
  const compiled = compileBundle(yaml);
  if (!compiled.ok) throw new Error(compiled.problems[0]?.message);

  it('is found clean by the linter, but for globs in limits and for notices', () => {
    expect(contracts).toEqual([`${name}.yaml`]);
    expect(
      lintBundle(yaml).filter(({ code, severity }) => severity !== 'notice' && !accepted.has(code)),
    ).toEqual([]);
  });

  it.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    expect(runCase(compiled.bundle, one).failures).toEqual([]);
  });

  it('has a case for each contract, each condition, and a call that passes', () => {
    const report = coverageOf(compiled.bundle, cases);
    expect(report.contracts.filter(({ fired, unmet }) => fired === 0 || unmet.length > 0)).toEqual([]);
    expect(cases.some(({ expect: wanted }) => wanted.verdict === 'allow')).toBe(true);
  });
});
