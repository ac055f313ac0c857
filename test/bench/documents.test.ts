// Tables of docs/performance.md: equal to what the committed results give, and text alone.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scenarios } from '../../bench/scenarios/index.ts';
import { replaceTables, tablesOf, tablesPage } from '../../bench/suite/documents.ts';
import { parseResults } from '../../bench/suite/results.ts';
import { root } from '../../bench/suite/root.ts';

const folder = join(root, 'bench/reference');
const files = readdirSync(folder).map((name) => ({
  name,
  results: parseResults(readFileSync(join(folder, name), 'utf8')),
}));
const page = readFileSync(join(root, tablesPage), 'utf8');

describe('the tables of docs/performance.md', () => {
  it('are those of bench/reference (npm run bench -- docs bench/reference/*.json)', () => {
    expect(page).toBe(replaceTables(page, tablesOf(files)));
  });

  it('come from commits without changes', () => {
    const changedRuns = files.filter(({ results }) => results.commit.dirty !== false).map(({ name }) => name);
    expect(changedRuns).toEqual([]);
    expect(page).not.toContain(', with changes, measured');
  });

  it('come from at most 200 KB of results', () => {
    const bytes = files.reduce((sum, { name }) => sum + statSync(join(folder, name)).size, 0);
    expect(bytes).toBeLessThanOrEqual(200_000);
  });

  it('change with a figure, and keep the prose around them', () => {
    const file = files.find(({ name }) => name.startsWith('ingest'));
    const [scenario] = file?.results.scenarios ?? [];
    const [figure] = scenario?.figures ?? [];
    if (!file || !scenario || !figure) throw new Error('unreachable');
    const other = { ...figure, what: 'a | <b>', median: 12_345 };
    const results = { ...file.results, scenarios: [{ ...scenario, figures: [other] }] };
    const changed = replaceTables(page, tablesOf([{ name: 'other.json', results }]));
    const changedTree = { ...results, commit: { ...results.commit, dirty: true } };
    expect(tablesOf([{ name: 'other.json', results: changedTree }])).toContain(', with changes, measured on ');
    expect(changed).toContain('| a \\| &lt;b> | 12345 events/s |');
    expect(changed.split('\n')[0]).toBe(page.split('\n')[0]);
    expect(changed.split('\n').at(-2)).toBe(page.split('\n').at(-2));
    expect(() => replaceTables('', '')).toThrow('has no marks for tables');
  });

  it('stand beside a page that explains every scenario', () => {
    const guide = readFileSync(join(root, 'docs/bench.md'), 'utf8');
    expect(Object.keys(scenarios).filter((name) => !guide.includes(`- \`${name}\`: `))).toEqual([]);
  });
});
