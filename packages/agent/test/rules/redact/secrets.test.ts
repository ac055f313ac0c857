// Redaction measured by a corpus: how many secrets are hidden, which are not, and which ordinary texts stay.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runsOf } from '../../../../../test/runs.ts';
import { redacted } from '../../../src/rules/redact/scan.ts';
import { looksSecret, redactArgs, redactResult, redactText } from '../../../src/rules/redact.ts';
import {
  ordinaryTexts,
  pairsByProgram,
  pairsInline,
  pairsInSentences,
  repeatedParts,
  secretArguments,
  secretNames,
  secretTexts,
} from './corpus.ts';
import { random } from './generator.ts';
import { patternSteps } from './steps.ts';
import { vendorTokens } from './tokens.ts';

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** The texts of the corpus that still show a secret. */
const misses = secretTexts.filter(({ text, secrets }) => {
  const hidden = redactText(text);
  return secrets.some((secret) => hidden.includes(secret) || decoded(hidden).includes(secret));
});

describe('secrets', () => {
  it('are hidden in 97 of 100 texts of the corpus', () => {
    expect(secretTexts.length).toBeGreaterThan(1500);
    expect(misses.length / secretTexts.length).toBeLessThan(0.03);
  });

  it('that are not hidden are listed in the docs, form by form', () => {
    const docs = readFileSync(new URL('../../../../../docs/security.md', import.meta.url), 'utf8');
    const written = (form: string): string => form.replaceAll('\n', '\\n').replaceAll('\t', '\\t');
    for (const { form } of misses) expect(docs).toContain(`\`${written(form)}\``);
  });

  it('are hidden in 95 of 100 of these texts within a string of JSON, and of JSON in such a string', () => {
    const visible = (text: string, secrets: readonly string[]): boolean => {
      const hidden = redactText(text);
      return secrets.some((secret) => hidden.includes(secret));
    };
    const json = (text: string): string => JSON.stringify({ command: text });
    for (const wrap of [json, (text: string) => json(json(text))]) {
      const visibleTexts = secretTexts.filter(({ text, secrets }) => visible(wrap(text), secrets));
      expect(visibleTexts.length / secretTexts.length).toBeLessThan(0.05);
    }
  });

  it('are hidden once: a hidden text stays as it is', () => {
    for (const { text } of secretTexts) {
      const hidden = redactText(text);
      expect(redactText(hidden)).toBe(hidden);
    }
  });

  it.each(secretNames)('under %s are hidden in every form of arguments', (name) => {
    for (const args of secretArguments(name))
      expect(JSON.stringify(redactArgs(args))).not.toContain('Zq7hK2mPx9Lw');
  });

  it('leave what stands around them', () => {
    for (const [text, hidden] of [...pairsByProgram, ...pairsInSentences, ...pairsInline])
      expect(redactText(text).replaceAll(/["']/g, '')).toBe(hidden.replaceAll(/["']/g, ''));
  });

  it.each(['pass', 'pw', 'creds', 'jwt', 'bearer', 'authHeader', 'mnemonic', 'seed_phrase', 'seedPhrase'])(
    'are hidden under %s, in arguments and in texts',
    (name) => {
      expect(redactArgs({ [name]: 'plain words here' })).toEqual({ [name]: redacted });
      expect(redactText(`{"${name}": "plain words here", "x": 1}`)).toBe(
        `{"${name}": "${redacted}", "x": 1}`,
      );
      expect(redactText(`${name} = swordfish`)).toBe(`${name} = ${redacted}`);
    },
  );

  it('stay under such a name where it is a switch or a count', () => {
    const kept = { pass: true, pw: 3, tests: [{ pass: 12 }] };
    expect(redactArgs(kept)).toEqual(kept);
    expect(redactText('tests: 14, pass: 12, fail: 2')).toBe('tests: 14, pass: 12, fail: 2');
  });

  it('of 20 characters drawn from an alphabet are hidden within 64 characters of a name', () => {
    for (const drawn of ['9f8e7d6c5b4a3f2e1d0c', 'qwzkjhplmnbvcxzrtsdfg', 'aB3dE6gH9kLmNoPqRsTuVw'])
      expect(redactText(`the secret that ann left on the desk for bob: see ${drawn} there`)).not.toContain(
        drawn,
      );
    const words = 'the secret of authenticationProviderOptions in InternationalizationSettings';
    expect(redactText(words)).toBe(words);
  });

  it.each(vendorTokens)('of a vendor stand alone: %s', (token) => {
    expect(looksSecret(token)).toBe(true);
    expect(redactText(`deploy with ${token}`)).toBe(`deploy with ${redacted}`);
    expect(redactArgs({ list: [`note ${token}`] })).toEqual({ list: [`note ${redacted}`] });
  });

  it('of at least 40 vendors are hidden by their prefix', () => {
    expect(vendorTokens.length).toBeGreaterThan(40);
  });
});

it('leaves ordinary texts as they are', () => {
  expect(ordinaryTexts.length).toBeGreaterThan(400);
  for (const text of ordinaryTexts) expect(redactText(text)).toBe(text);
});

it('touches few lines of an ordinary library', () => {
  const source = readFileSync(new URL('../../../../../node_modules/jose/README.md', import.meta.url), 'utf8');
  const lines = source.split('\n');
  expect(lines.filter((line) => redactText(line) !== line)).toEqual([]);
});

/** Steps of all patterns while a text is redacted, with those that backtracking repeats. */
const stepsOf = (text: string): number => patternSteps(() => redactText(text));

describe('steps', () => {
  it('count what a pattern reads again', () => {
    const ratio = (pattern: RegExp): number => {
      const [one = 0, two = 0] = [200, 400].map((n) => patternSteps(() => pattern.test('a'.repeat(n))));
      return Math.round(two / one);
    };
    expect([/^a*b/, /^a*a*b/, /^(?:a*){2}b/, /a*b/].map(ratio)).toEqual([2, 4, 4, 4]);
  });

  const parts = [
    ...repeatedParts,
    ...[
      `|x${'*'.repeat(200)}x\n`,
      'ssm put-parameter ',
      '"kty" "d" ',
      'echo a |',
      'a,password,b\n',
      'authorization: ',
    ],
    ...[' ', '\n', '"', "'", '=', ':', '{', '\\', '%', '*', '|x', 'a', '-', '://', '@', '.'],
  ];

  it('grow with the length of a text, whatever is repeated in it', { timeout: 1_800_000 }, () => {
    for (let seed = 1; seed <= runsOf(300, 10); seed++) {
      const draw = random(seed);
      const unit = Array.from({ length: 1 + draw(4) }, () => parts[draw(parts.length)]).join('');
      const [one = 0, two = 0, four = 0] = [8000, 16_000, 32_000].map((n) =>
        stepsOf(unit.repeat(n / unit.length + 1).slice(0, n)),
      );
      expect([seed, unit, two / one <= 2.2, four / two <= 2.2]).toEqual([seed, unit, true, true]);
    }
  });

  it('grow with the marks of a block, and with its lines', () => {
    for (const marks of ['*', '.-', '.=', '-=', 'REDACTED.=']) {
      const line = ` ${marks.repeat(200 / marks.length)}\n`;
      const [one = 0, two = 0] = [50, 100].map((n) => stepsOf(`password: |\n${line.repeat(n)}`));
      expect([marks, two / one <= 2.2]).toEqual([marks, true]);
    }
  });

  it('reach the end of a block as large as a result', () => {
    const lines = ' a plain line\n'.repeat(1_000_000);
    // A pattern for all of them would hold more places to return to than the platform allows.
    expect(redactText(`password: |\n${lines}next: b\n`)).toBe(`password: |\n ${redacted}\nnext: b\n`);
    const nested = `a:\n  token: |\n${'    line\n'.repeat(2_500)}  b: c\n`;
    expect(redactText(nested)).toBe(`a:\n  token: |\n    ${redacted}\n  b: c\n`);
  });

  it('are spent on 150,000 characters of recorded arguments; texts beyond are replaced whole', () => {
    const list = Array.from({ length: 3000 }, () => 'pwd:/a:'.repeat(600));
    const copy = redactArgs({ list, last: 'words' }) as {
      readonly list: readonly string[];
      readonly last: string;
    };
    expect(copy.list[0]).toContain('pwd:/a:');
    expect(copy.list.at(-1)).toBe(redacted);
    expect(copy.last).toBe(redacted);
  });

  it('are spent on what is recorded only after it was cut; a result that an agent gets is read whole', () => {
    const text = `${'x '.repeat(100_000)}password=hunter2`;
    expect(redactText(text)).toBe(`${'x '.repeat(100_000)}password=${redacted}`);
    expect(redactResult(text)).toHaveLength(500);
    expect((redactArgs(text) as string).length).toBe(1000);
  });
});
