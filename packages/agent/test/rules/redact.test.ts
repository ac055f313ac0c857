// The six redaction rules against every vector that the specification names, and their bounds.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runsOf } from '../../../../test/runs.ts';
import { capPayload } from '../../src/record.ts';
import {
  createRedaction,
  defaultRedaction,
  looksSecret,
  redactArgs,
  redactResult,
  redactText,
} from '../../src/rules/redact.ts';
import { pairsInline } from './redact/corpus.ts';

const R = '[REDACTED]';
const cases = (text: string): string[] => text.trim().split(/\s+/);

describe('keys', () => {
  it.each(
    cases(`password secret token api_key apikey api-key authorization auth credentials private_key privatekey
      access_token refresh_token client_secret connection_string database_url db_password ssh_key passphrase
      api_tokens db_passwords user_credentials oauth_secrets encryption_keys jwt_tokens
      X-Api-Key password_reset_url token_count credentials_path apiKey API_KEY Database-Url
      accessToken clientSecret dbPassword APIKey xApiKey GitHubToken oauth2Token idToken publicKeys AWSSecretAccessKey
      ACCESSTOKEN authtoken userpassword PGPASSWORD rootpasswd password2 token_1 pass.word.secret user[password]
      passwd PASSWD pwd dbPwd MYSQL_PWD DB_PASS dbPass smtp_pass2 userpass proxy-authorization Cookie Set-Cookie ssh_passphrase
      my_key some-keys session_token session_tokens app_secret app_secrets user_password user_passwords user_credential`),
  )('%s is sensitive', (key) => {
    expect(redactArgs({ [key]: 'plain' })).toEqual({ [key]: R });
  });

  it.each([
    ...cases(`max_tokens num_tokens total_tokens completion_tokens prompt_tokens cached_tokens reasoning_tokens
      audio_tokens cache_tokens sort_keys index_keys input_tokens output_tokens max_output_tokens MAX-TOKENS
      maxTokens promptTokens totalTokens maxOutputTokens sortKeys maxtokens
      monkey keyboard keyboardLayout auth_header path name author turkey tokenizer secretary passage pwdx
      bypass compass first_pass tests_pass passed boardingPass`),
    'api tokens',
  ])('%s is kept', (key) => {
    expect(redactArgs({ [key]: 'plain' })).toEqual({ [key]: 'plain' });
  });

  it.each(['/home/ann', './src', '../x', '~', '~/x y', '.', 'C:\\Users\\ann', '/', '/été/日本'])(
    'keeps %j under pwd, which is a folder',
    (value) => {
      for (const key of ['pwd', 'PWD', 'OLDPWD', 'old_pwd']) {
        expect(redactArgs({ [key]: value })).toEqual({ [key]: value });
      }
      expect(redactText(`cd x; PWD=${value.split(' ')[0]} make`)).toContain(value.split(' ')[0]);
    },
  );

  it.each(['hunter2', 'a/b', 7, null, '/x=y+z==', '.htpass!'])('hides %j under pwd', (value) => {
    expect(redactArgs({ pwd: value })).toEqual({ pwd: R });
  });

  it('hides the value of a header, a variable or a pair that is told by its name', () => {
    const told = [
      { name: 'Authorization', value: 'abc' },
      { name: 'DB_PASSWORD', value: 5 },
      { header: 'X-Api-Key', value: 'abc' },
      { name: 'Accept', value: 'text/html' },
      ['authorization', 'abc'],
      ['accept', 'text/html'],
    ];
    expect(redactArgs({ headers: told })).toEqual({
      headers: [
        { name: 'Authorization', value: R },
        { name: 'DB_PASSWORD', value: R },
        { header: 'X-Api-Key', value: R },
        { name: 'Accept', value: 'text/html' },
        ['authorization', R],
        ['accept', 'text/html'],
      ],
    });
  });

  it('hides the word after a flag in a list of words', () => {
    const words = [
      'curl',
      '-u',
      'ann:pw',
      '--password',
      'x',
      '--client-secret',
      'y',
      '--retry',
      '3',
      '-p',
      'z',
    ];
    expect(redactArgs({ argv: words })).toEqual({
      argv: ['curl', '-u', `ann:${R}`, '--password', R, '--client-secret', R, '--retry', '3', '-p', R],
    });
  });

  it('replaces the whole value whatever its type, at any depth', () => {
    expect(redactArgs({ a: [{ token: { x: 1 } }, { secret: 5 }], password: null })).toEqual({
      a: [{ token: R }, { secret: R }],
      password: R,
    });
  });

  it('lets a user-supplied sensitive key beat the safe list, and adds safe keys', () => {
    const own = createRedaction({
      sensitiveKeys: ['Max-Tokens', 'ssn'],
      safeCompoundKeys: ['token_count'],
    });
    expect(own.redactArgs({ max_tokens: 1, SSN: 2, token_count: 3, token: 4 })).toEqual({
      max_tokens: R,
      SSN: R,
      token_count: 3,
      token: R,
    });
  });
});

describe('names', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  it('that contain tokens lose these, and stay different', () => {
    const other = `sk_live_${'a1B2'.repeat(4)}`;
    const args = { [token]: 1, [other]: { [`Bearer ${token}`]: 2 }, [R]: 3, api_key_of_production: '' };
    expect(redactArgs(args)).toEqual({
      ...{ [`${R} 2`]: 1, [`${R} 3`]: { [`Bearer ${R}`]: 2 }, [R]: 3, api_key_of_production: R },
    });
  });

  it('stay where values are not looked at', () => {
    expect(createRedaction({ detectSecretValues: false }).redactArgs({ [token]: 1 })).toEqual({ [token]: 1 });
  });
});

describe('values', () => {
  const a = (n: number): string => 'a1B2'.repeat(20).slice(0, n);
  it.each([
    `sk-${a(20)}`,
    'AKIAIOSFODNN7EXAMPLE',
    `eyJ${a(20)}.payload.sig`,
    `ghp_${a(36)}`,
    `xoxb-${a(10)}`,
    `xoxp-${a(10)}`,
    `xoxa-${a(10)}`,
    `xoxs-${a(10)}`,
    `ASIA${'A1'.repeat(8)}`,
    `AIza${a(35)}`,
    `github_pat_${a(22)}`,
    `gho_${a(36)}`,
    `glpat-${a(20)}`,
    `npm_${a(36)}`,
    `sk_live_${a(24)}`,
    `whsec_${a(24)}`,
    `svk_production_${a(43)}`,
    '-----BEGIN OPENSSH PRIVATE KEY-----\nabc',
  ])('%s is a secret', (value) => {
    expect(looksSecret(value)).toBe(true);
    expect(redactArgs({ note: value })).toEqual({ note: R });
  });

  it.each([
    `sk-${a(19)}`,
    'AKIAshort',
    `eyJ${a(20)}`,
    `ghp_${a(35)}`,
    `xoxz-${a(10)}`,
    'xoxb-short',
    'hello',
    'svk_production_a1B2a1B2',
    'svk_staging_',
    'npm_install',
    'sk_live_short',
    '-----BEGIN CERTIFICATE-----',
  ])('%s is none', (value) => {
    expect(looksSecret(value)).toBe(false);
    expect(redactArgs({ note: value })).toEqual({ note: value });
  });

  it('are found anywhere in arguments and results', () => {
    const value = `use eyJ${a(20)}.x.y`;
    expect(looksSecret(value)).toBe(false);
    expect(redactArgs([value])).toEqual([`use ${R}`]);
    expect(redactText(`header: ${value} end`)).toBe(`header: use ${R} end`);
  });

  it('knows keys of hubs by other prefixes too when it is told them', () => {
    const own = createRedaction({ keyPrefixes: ['acme.', ''] });
    expect(own.redactText(`key acme.${a(40)} svk_production_${a(40)} acmex${a(40)}`)).toBe(
      `key ${R} ${R} acmex${a(40)}`,
    );
    expect(own.looksSecret(`acme.${a(40)}`)).toBe(true);
  });

  it('keeps values when detection is off, but still redacts keys', () => {
    const own = createRedaction({ detectSecretValues: false, customPatterns: [['x', 'y']] });
    const value = `sk-${a(20)}`;
    expect(own.redactArgs({ note: value, key: value })).toEqual({ note: value, key: R });
    expect(own.redactText(value)).toBe(value);
  });
});

describe('inline secrets', () => {
  it.each(pairsInline)('%s', (text, hidden) => {
    expect(redactArgs({ command: text })).toEqual({ command: hidden });
    expect(redactText(text)).toBe(hidden);
  });

  it.each([
    'max_tokens=100 temperature=0.5',
    'sorted(rows, key=len)',
    'SELECT * FROM t WHERE primary_key = 5',
    'the tokens: 12 in, 30 out',
    'MAX_TOKENS=100 python run.py',
    'export MAX_OUTPUT_TOKENS=5',
    'git commit -m "auth: rename the header"',
    'see https://example.com/a:b?page=2#top',
    'user@example.com wrote: hello',
    'grep -rn "a|b" src --include=*.ts',
    'npm test 2>/dev/null && echo ok',
    'Content-Type: application/json',
    'tar -C /tmp -xzf a.tgz',
    'kubectl get pods -n monkey --sort-by=name',
    'basic configuration of the bearer',
    'for (const key of keys) map[key] = value;',
    '12:30:05 INFO keyboard: connected',
    'PWD=/srv/app make',
    'ssh ann@host:2222',
    'color: #fff; width: 10px',
  ])('leaves %j as it is', (text) => {
    expect(redactArgs({ text })).toEqual({ text });
    expect(redactText(text)).toBe(text);
  });

  it('hides any secret in any of these places, and hides the same when it looks again', () => {
    const places: readonly ((secret: string) => string)[] = [
      (s) => `PGPASSWORD=${s} psql`,
      (s) => `curl -u ann:${s} https://x`,
      (s) => `curl -H "Authorization: Bearer ${s}" https://x`,
      (s) => `curl -H 'X-Auth-Token: ${s}' https://x`,
      (s) => `https://ann:${s}@host/path`,
      (s) => `https://host/?token=${s}&b=1`,
      (s) => `{"a":1,"dbPassword":"${s}","b":2}`,
      (s) => `mysql -u root --password=${s} db`,
      (s) => `tool --client-secret "${s}" x`,
      (s) => `Server=a;Password=${s};X=1`,
      (s) => `password: ${s}`,
      (s) => `-----BEGIN PRIVATE KEY-----${s}-----END PRIVATE KEY-----`,
    ];
    const word = fc.string({ unit: fc.constantFrom(...'abzAZ019+_.!%^*~$/='), minLength: 6, maxLength: 30 });
    fc.assert(
      fc.property(word, fc.constantFrom(...places), fc.string(), (secret, place, around) => {
        const needle = `q${secret}q`;
        const text = `${around.replaceAll(/["'\\`]/g, '')} ${place(needle)}`;
        const hidden = redactText(text);
        expect(hidden).not.toContain(needle.slice(0, 7));
        expect(hidden).not.toContain(needle.slice(-7));
        expect(redactText(hidden)).toBe(hidden);
      }),
      { numRuns: runsOf(2_000) },
    );
  });

  it('applies custom patterns to the end of a text', () => {
    const { redactText } = createRedaction({ customPatterns: [[/EMP-\d+/, '[EMPLOYEE]']] });
    const blanks = ' '.repeat(50_000);
    expect(redactText(`${blanks}EMP-7`)).toBe(`${blanks}[EMPLOYEE]`);
  });

  it('applies custom patterns before its own', () => {
    const own = createRedaction({
      customPatterns: [
        ['ACME-(\\d)\\d+', 'ACME-$1***'],
        [/host/i, 'h'],
      ],
    });
    expect(own.redactArgs('ACME-1234 on HOST')).toBe('ACME-1*** on h');
    expect(own.redactText('ACME-1234 on host')).toBe('ACME-1*** on h');
  });
});

describe('bounds', () => {
  it('cuts arguments at 1,000 characters and results at 500', () => {
    expect(redactArgs('x'.repeat(1001))).toBe(`${'x'.repeat(997)}...`);
    expect(redactArgs('x'.repeat(1000))).toBe('x'.repeat(1000));
    expect(redactResult('x'.repeat(501))).toBe(`${'x'.repeat(497)}...`);
  });

  it('leaves no half of a surrogate pair', () => {
    expect(redactArgs(`${'x'.repeat(996)}😀${'y'.repeat(20)}`)).toBe(`${'x'.repeat(996)}\ufffd...`);
    expect(redactArgs('a\ud800b😀')).toBe('a\ufffdb😀');
  });

  it('ends at a cycle, a deep nest and a huge list', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(JSON.stringify(redactArgs(cycle))).toContain('[TRUNCATED]');
    const many = redactArgs(Array.from({ length: 100_000 }, () => 1)) as unknown[];
    expect(many.length).toBeLessThan(20_100);
    const wide = Array.from({ length: 200 }, () => cycle);
    expect(JSON.stringify(redactArgs(wide)).length).toBeLessThan(2_000_000);
  });

  it('makes plain data of dates, maps, sets, bytes and big integers', () => {
    const value = {
      d: new Date(0),
      m: new Map([['token', 1]]),
      s: new Set([1]),
      b: new Uint8Array(3),
      n: 1n,
      f() {},
    };
    expect(redactArgs(value)).toEqual({
      d: '1970-01-01T00:00:00.000Z',
      m: { token: R },
      s: [1],
      b: '[BINARY 3 bytes]',
      n: '1',
      f: undefined,
    });
  });

  it('does not let a key named __proto__ change the copy', () => {
    const copy = redactArgs(JSON.parse('{"__proto__": {"x": 1}, "a": 1}')) as { x?: number };
    expect(copy.x).toBeUndefined();
    expect(Object.keys(copy)).toEqual(['__proto__', 'a']);
  });

  it('never shows the value of a sensitive key, whatever surrounds it', () => {
    fc.assert(
      fc.property(
        fc.object({ maxDepth: 4 }),
        fc.constantFrom('password', 'X-Api-Key', 'my_token'),
        (value, key) => {
          const text = JSON.stringify(redactArgs([value, { deep: [{ [key]: 'needle-7f3a' }] }]));
          expect(text).not.toContain('needle-7f3a');
        },
      ),
    );
  });
});

describe('payload cap', () => {
  it('replaces arguments and removes the summary above 32,768 characters', () => {
    const small = { tool_args: { a: 1 }, result_summary: 'x' };
    expect(capPayload(small)).toBe(small);
    const empty = JSON.stringify({ tool_args: '' }).length;
    const fits = { tool_args: 'x'.repeat(32_768 - empty) };
    expect(capPayload(fits)).toBe(fits);
    expect(capPayload({ tool_args: 'x'.repeat(32_769 - empty), result_summary: 'y', reason: 'z' })).toEqual({
      _truncated: true,
      tool_args: { _redacted: 'payload exceeded 32KB' },
      reason: 'z',
    });
  });

  it('has one default policy', () => {
    expect(defaultRedaction.isSensitiveKey('token')).toBe(true);
  });
});
