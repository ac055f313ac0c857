// The report: one file that fetches nothing, with every number of the charts in a table.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reportOf } from '../../bench/suite/report.ts';
import { parseResults, type Results } from '../../bench/suite/results.ts';
import { root } from '../../bench/suite/root.ts';

const read = (commit: string): Results =>
  parseResults(readFileSync(join(root, `bench/reference/ingest-${commit}.json`), 'utf8'));

const before = { name: 'before.json', results: read('484a7b0d') };
const after = { name: 'after.json', results: read('3b0d5245') };

describe('a report', () => {
  const html = reportOf([after, before]);

  it('fetches nothing', () => {
    expect(html).toContain(
      `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"`,
    );
    const markup = html.replace(/<script>[\s\S]*?<\/script>/g, '');
    expect(markup).not.toMatch(/\b(?:src|href)=|url\(|@import/);
  });

  it('has the files in order of their runs, with each round and percentile in a table', () => {
    expect(html.indexOf('before.json')).toBeLessThan(html.indexOf('after.json'));
    const [figure] = before.results.scenarios[0]?.figures ?? [];
    for (const value of figure?.rounds ?? []) expect(html).toContain(`<td>${Math.round(value)}</td>`);
    expect(html).toContain('<th>p99.9</th>');
    expect(html).toContain('data-curve="ingest.answer_p99"');
    expect(html).toContain('one row per event in SQLite, durable commits of 16 batches');
  });

  it('has the rounds of rivals beside those of the figure and its bound', () => {
    const [scenario] = before.results.scenarios;
    const [figure] = scenario?.figures ?? [];
    if (!scenario || !figure) throw new Error('unreachable');
    const rivals = [{ name: 'epoll', version: '1', figures: [{ ...figure, rounds: [41_234, 41_235] }] }];
    const results = { ...before.results, scenarios: [{ ...scenario, rivals }] };
    const beside = reportOf([{ ...before, results }]);
    expect(beside).toContain('<td>epoll</td><td>41234</td><td>41235</td>');
    expect(beside).toContain('{"name":"epoll","rounds":[41234,41235]}');
    expect(beside).toContain('"beside":[{"name":"bound","rounds":[');
  });

  it('keeps names as text', () => {
    const name = '</script><script>alert(1)//';
    const named = reportOf([{ ...before, name }]);
    expect(named).not.toContain(name);
    expect(named).toContain('&lt;/script&gt;');
    expect(named.match(/<script>/g)).toHaveLength(3);
  });

  it('follows the theme of the reader, and prints', () => {
    expect(html).toContain('@media (prefers-color-scheme: dark)');
    expect(html).toContain('@media print');
  });
});
