// The sentence of a contract: every type and effect, and definitions that are long, deep or wrong.
import { describe, expect, it } from 'vitest';
import { parseYaml } from '../../packages/agent/src/rules/yaml.ts';
import type { JsonObject } from '../../src/contract/record.ts';
import { sentenceOf, toolsOf } from '../../src/contract/rules.ts';
import { starters } from '../../src/dashboard/pages/contracts/starters.ts';

const sentences: { readonly [name: string]: string } = {
  'Deny a call': 'Denies read_file when args.path contains any of .env, id_rsa',
  'Require approval': 'Asks before deploy when environment is production',
  'Observe a call': 'Observes only: denies refund when args.amount > 500',
  'Redact a result': 'Redacts results of all tools when output.text matches AKIA[0-9A-Z]{16}',
  'Limit a session': 'Denies calls of a session beyond 100 executed calls, 5 send_mail',
  'Restrict paths': 'Denies read_file, write_file outside /workspace',
};

describe('the sentence of a contract', () => {
  it.each(starters)('$name', ({ name, type, text }) => {
    expect(sentenceOf(type, parseYaml(text)[0]?.value as JsonObject)).toBe(sentences[name]);
  });

  it('joins conditions, and cuts lists', () => {
    const when = {
      all: [
        { 'tool.name': { in: ['a', 'b', 'c', 'd', 'e'] } },
        { any: [{ 'args.n': { gte: 1, lt: 9 } }, { 'args.x': { exists: false } }] },
        { not: { 'principal.role': { equals: 'treasurer' } } },
      ],
    };
    expect(sentenceOf('pre', { tool: '*', when, then: { effect: 'deny' } })).toBe(
      'Denies all tools when tool.name is one of a, b, c and 2 more and ' +
        '(args.n ≥ 1 and args.n < 9 or args.x is missing) and not principal.role is treasurer',
    );
  });

  it('reads the words of rulesets as those of contracts', () => {
    const sentenceWith = (action: string) => sentenceOf('pre', { tool: 'pay', then: { action } });
    expect([sentenceWith('ask'), sentenceWith('block')]).toEqual(['Asks before pay', 'Denies pay']);
    expect(sentenceOf('post', { tool: 'pay', then: { action: 'redact' } })).toBe('Redacts results of pay');
    expect(sentenceOf('sandbox', { tool: 'pay', within: ['/w'], outside: 'ask' })).toBe(
      'Asks before pay outside /w',
    );
  });

  it('names the bounds of a sandbox with their exceptions', () => {
    const definition = {
      ...{ tools: ['shell', '*_file'], within: ['/w', '/tmp'], not_within: ['/w/.git'], outside: 'approve' },
      allows: { commands: ['ls', 'git'], domains: ['*.example.com'] },
      not_allows: { domains: ['admin.*'] },
    };
    expect(sentenceOf('sandbox', definition)).toBe(
      'Asks before shell, *_file outside /w, /tmp except /w/.git; commands ls, git; ' +
        'domains *.example.com except admin.*',
    );
    expect(toolsOf(definition)).toEqual(['shell', '*_file']);
  });

  it('is short for definitions that are long, deep or wrong', () => {
    let deep: object = { 'args.x': { equals: 'x'.repeat(999) } };
    for (let level = 0; level < 5_000; level += 1) deep = { not: deep };
    for (const definition of [{ when: deep }, { when: 7 }, { when: { all: 'x' }, tools: 7 }, { then: [] }]) {
      const text = sentenceOf('pre', definition);
      expect(text).toMatch(/^Denies all tools/);
      expect(text.length).toBeLessThanOrEqual(240);
    }
    const wrong = { toString: 1 };
    expect(sentenceOf('pre', { then: { effect: wrong } })).toBe('… all tools');
    expect(sentenceOf('sandbox', { outside: wrong })).toBe('… all tools outside its bounds');
    expect(sentenceOf('pre', { then: { effect: 'constructor' } })).toBe('constructor all tools');
    expect(sentenceOf('pre', { when: { 'args.x': { constructor: 1 } } })).toMatch(
      / when args\.x constructor 1$/,
    );
    expect(sentenceOf('session', { limits: { constructor: 1 } })).toMatch(/ beyond 1 constructor$/);
    // A cut leaves no half of a character.
    for (const tool of ['😀'.repeat(40), `x${'😀'.repeat(40)}`])
      expect(sentenceOf('pre', { tool })).toMatch(/^Denies x?(😀)+…$/u);
    expect(sentenceOf('session', {})).toBe('Denies calls of a session beyond its limits');
    expect(sentenceOf('sandbox', { enabled: false })).toBe('Off: denies all tools outside its bounds');
  });
});
