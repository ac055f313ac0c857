// The page of the rule language: its examples load, its refusals are refused, its tables and limits are the engine's.
import { readFile } from 'node:fs/promises';
import {
  compileBundle,
  maxConditionDepth,
  maxContracts,
  maxEvaluateDocuments,
  maxLeaves,
  maxMessageLength,
  maxPatternLength,
  maxPatternSteps,
  maxPatterns,
  maxProblems,
  maxStoredRules,
  operatorNames,
  patternProblem,
  readBundle,
  ruleTypes,
} from 'reeve-agent/rules';
import { describe, expect, it } from 'vitest';

const page = await readFile(new URL('../../docs/rule-language.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```yaml( refused)?\n([\s\S]*?)```(?:\s*```text\n([\s\S]*?)```)?/g)].map(
  ([, refused, yaml, said]) => ({ refused: refused !== undefined, yaml: yaml ?? '', said: said ?? '' }),
);
const head =
  'apiVersion: service/v1\nkind: ContractBundle\nmetadata: { name: a }\ndefaults: { mode: enforce }\n';

/** A whole document, a list of contracts, or one `when`. */
function whole(yaml: string): string {
  if (yaml.startsWith('apiVersion:')) return yaml;
  if (yaml.startsWith('- ')) return `${head}contracts:\n${yaml}`;
  const contract = `- id: a\n  type: pre\n  tool: t\n  then: { effect: deny, message: m }\n${yaml.replace(/^/gm, '  ')}`;
  return `${head}contracts:\n${contract}`;
}
const problemsOf = (yaml: string): string[] => {
  const compiled = compileBundle(whole(yaml), { maxDocuments: 10 });
  return compiled.ok ? [] : compiled.problems.map((problem) => problem.message);
};
const section = (title: string): string => page.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

describe('the examples', () => {
  const good = examples.filter((example) => !example.refused);

  it.each(good)('loads example $#', ({ yaml }) => {
    expect(problemsOf(yaml)).toEqual([]);
  });

  it('show every type of contract', () => {
    const types = good.flatMap(({ yaml }) => {
      const read = readBundle(whole(yaml), { maxDocuments: 10 });
      return read.ok ? read.documents.flatMap(({ rules }) => rules.map((rule) => rule.type)) : [];
    });
    expect([...new Set(types)].sort()).toEqual([...ruleTypes].sort());
    expect(good.length).toBeGreaterThan(9);
  });

  it('of problems say what the page says', () => {
    const refused = examples.filter((example) => example.refused);
    expect(refused).toHaveLength(1);
    for (const { yaml, said } of refused) expect(`${problemsOf(yaml).join('\n')}\n`).toBe(said);
  });
});

describe('the tables', () => {
  it('name every operator, and no other', () => {
    const named = [...section('Operators').matchAll(/^\| (`[a-z_`, ]+`) \|/gm)].flatMap(([, names]) =>
      (names ?? '').replaceAll('`', '').split(', '),
    );
    expect(named.sort()).toEqual([...operatorNames].sort());
  });

  it('give examples of refused patterns that are refused', () => {
    const rows = section('Patterns')
      .split('\n')
      .filter((line) => /^\| [A-Z]/.test(line));
    const patterns = rows.flatMap((row) => {
      const cell = row.replaceAll('\\|', '\u0001').split('|')[2] ?? '';
      return [...cell.matchAll(/`([^`]+)`/g)].map((match) => (match[1] ?? '').replaceAll('\u0001', '|'));
    });
    expect(patterns.length).toBeGreaterThan(12);
    expect(patterns.filter((pattern) => patternProblem(pattern) === null)).toEqual([]);
  });

  it('state the limits that hold', () => {
    const text = section('Limits') + section('Patterns') + section('Problems');
    const numbers = [
      ...[maxContracts, maxStoredRules, maxEvaluateDocuments, maxMessageLength, maxLeaves, maxConditionDepth],
      ...[maxPatterns, maxPatternSteps, maxPatternLength, maxProblems],
    ];
    for (const number of numbers) expect(text).toMatch(new RegExp(`\\b${number.toLocaleString('en')}\\b`));
  });

  it('has a target for every link inside it', () => {
    const titles = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) =>
      (title ?? '').toLowerCase().replaceAll(' ', '-'),
    );
    const links = [...page.matchAll(/\]\(#([a-z-]+)\)/g)].map(([, target]) => target ?? '');
    expect(links.filter((link) => !titles.includes(link))).toEqual([]);
  });
});
