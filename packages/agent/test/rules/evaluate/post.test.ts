import { describe, expect, it } from 'vitest';
import type { CompiledBundle } from '../../../src/rules/evaluate/compile.ts';
import { evaluatePost } from '../../../src/rules/evaluate/post.ts';
import { bundleOf, compiled } from './rules.ts';

describe('evaluatePost', () => {
  const post = (effect: string, when: string, rest = '', more = '') =>
    compiled(
      bundleOf(
        `  - {id: p, type: post, tool: "*", ${rest} when: ${when}, then: {effect: ${effect}, message: leak}}`,
        `tools: {r: {side_effect: read}, w: {side_effect: write}${more}}`,
      ),
    );
  const ssn = '{output.text: {matches: "\\\\d{3}-\\\\d{2}-\\\\d{4}"}}';

  it('redacts what the patterns find in the result of a reading tool', () => {
    expect(evaluatePost(post('redact', ssn), { tool: 'r', args: {} }, 'a 123-45-6789 b')).toMatchObject({
      output: 'a [REDACTED] b',
      changed: 'redacted',
      postconditionsPassed: false,
      records: [{ name: 'p', type: 'postcondition', passed: false, message: 'leak' }],
    });
  });

  it('reads a result to its end', () => {
    for (const length of [10_000, 2_000_000]) {
      const result = `${'x '.repeat(length / 2)}123-45-6789`;
      const call = { tool: 'r', args: {} };
      expect(evaluatePost(post('redact', ssn), call, result).output).toBe(
        `${'x '.repeat(length / 2)}[REDACTED]`,
      );
      expect(evaluatePost(post('deny', ssn), call, result).output).toBe('[OUTPUT SUPPRESSED] leak');
      expect(evaluatePost(post('warn', ssn), call, { rows: [result] }).warnings).toHaveLength(1);
    }
  });

  it('suppresses, warns, and only warns once the world has changed', () => {
    const args = {};
    expect(evaluatePost(post('deny', ssn), { tool: 'r', args }, '123-45-6789').output).toBe(
      '[OUTPUT SUPPRESSED] leak',
    );
    expect(evaluatePost(post('warn', ssn), { tool: 'r', args }, '123-45-6789')).toMatchObject({
      output: '123-45-6789',
      warnings: ['leak Consider retrying.'],
    });
    for (const effect of ['deny', 'redact']) {
      expect(evaluatePost(post(effect, ssn), { tool: 'w', args }, '123-45-6789')).toMatchObject({
        output: '123-45-6789',
        changed: 'no',
        warnings: ['leak Tool already executed — assess before proceeding.'],
      });
    }
  });

  it('hides everything when a redaction names no pattern and nobody can do better', () => {
    const bundle = post('redact', '{output.text: {contains: key}}');
    expect(evaluatePost(bundle, { tool: 'r', args: {} }, 'key x').output).toBe('[REDACTED]');
    const redactText = (text: string) => text.replace('x', '#');
    expect(evaluatePost(bundle, { tool: 'r', args: {} }, 'key x', { redactText }).output).toBe('key #');
  });

  it('looks into structured results, and gives untouched ones back as they are', () => {
    const bundle = post('warn', '{result.rows.n: {gt: 5}}');
    const result = { rows: { n: 9 } };
    const seen = evaluatePost(bundle, { tool: 'r', args: {} }, result);
    expect([seen.output, seen.warnings.length]).toEqual([result, 1]);
    expect(
      evaluatePost(post('warn', '{output.text: {contains: "\\"n\\":9"}}'), { tool: 'r', args: {} }, result)
        .warnings,
    ).toHaveLength(1);
    expect(
      evaluatePost(post('warn', '{output.text: {exists: true}}'), { tool: 'r', args: {} }, null).warnings,
    ).toEqual([]);
  });

  it('shows nothing of the result of a call that cannot be read, and says so', () => {
    const unreadable = {
      get tool(): string {
        throw new Error('no');
      },
      args: {},
    };
    expect(evaluatePost(post('warn', ssn), unreadable, 'x')).toMatchObject({
      changed: 'suppressed',
      postconditionsPassed: false,
      policyError: true,
    });
  });

  it('puts the result into its messages', () => {
    const bundle = post('warn', '{output.text: {exists: true}}', 'mode: observe,');
    const text = compiled(
      bundleOf(
        '  - {id: p, type: post, tool: r, mode: observe, when: {result.a: {exists: true}}, then: {effect: warn, message: "{result.a} {output.text}"}}',
      ),
    );
    expect(evaluatePost(text, { tool: 'r', args: {} }, { a: 1 }).warnings).toEqual(['[observe] 1 {"a":1}']);
    expect(evaluatePost(bundle, { tool: 'r', args: {} }, 'x').warnings).toEqual(['[observe] leak']);
  });

  it('lets each redaction work on what the ones before it left, and a denial win over all', () => {
    const two = (last: string) =>
      compiled(
        bundleOf(
          [
            '{output.text: {matches: "a+"}}',
            '{any: [{output.text: {matches: "zzz"}}, {not: {output.text: {matches_any: ["c+", q]}}}]}',
            '{output.text: {matches: "b+"}}',
          ]
            .map(
              (when, i) =>
                `  - {id: p${i}, type: post, tool: r, when: ${when}, then: {effect: ${i === 2 ? last : 'redact'}, message: m${i}}}`,
            )
            .join('\n'),
          'tools: {r: {side_effect: pure}}',
        ),
      );
    const result = (last: string, text: string) =>
      evaluatePost(two(last), { tool: 'r', args: {} }, text).output;
    expect(result('redact', 'xaay bb')).toBe('x[REDACTED]y [REDACTED]');
    // Patterns under any and not count as well, also those that did not make the contract fire.
    expect(result('redact', 'xaay zzz')).toBe('x[REDACTED]y [REDACTED]');
    expect(result('redact', 'zzz cc')).toBe('[REDACTED] [REDACTED]');
    expect(result('deny', 'xaay bb')).toBe('[OUTPUT SUPPRESSED] m2');
  });

  it('keeps observing contracts out of the result', () => {
    expect(
      evaluatePost(post('deny', ssn, 'mode: observe,'), { tool: 'r', args: {} }, '123-45-6789'),
    ).toMatchObject({
      changed: 'no',
      warnings: ['[observe] leak'],
      postconditionsPassed: true,
    });
  });

  it('hides what a tool gives whose side effect nobody declared', () => {
    const result = (bundle: CompiledBundle) =>
      evaluatePost(bundle, { tool: 'unknown', args: {} }, '123-45-6789').changed;
    expect(result(post('redact', ssn))).toBe('redacted');
    expect(result(post('deny', ssn))).toBe('suppressed');
    expect(
      evaluatePost(post('redact', ssn), { tool: 'Bash', args: { command: 'rm a' } }, '123-45-6789').changed,
    ).toBe('redacted');
  });

  it.each([
    [undefined, 'redacted'],
    ['cat a', 'redacted'],
    ['git status', 'redacted'],
    ['cat a > b', 'no'],
    ['cat $X', 'no'],
    ['rm a', 'no'],
    ['git push', 'no'],
  ])('judges the side effect of a declared Bash by its command %j', (command, changed) => {
    expect(
      evaluatePost(
        post('redact', ssn, '', ', Bash: {side_effect: irreversible}'),
        { tool: 'Bash', args: { command } },
        '123-45-6789',
      ).changed,
    ).toBe(changed);
  });
});
