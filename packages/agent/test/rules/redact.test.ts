// The six redaction rules against every vector that the specification names, and their bounds.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  capPayload,
  createRedaction,
  defaultRedaction,
  looksSecret,
  redactArgs,
  redactResult,
  redactText,
} from '../../src/rules/redact.ts';
import { cpuMs } from '../cpu.ts';

const R = '[REDACTED]';
const cases = (text: string): string[] => text.trim().split(/\s+/);

describe('keys', () => {
  it.each(
    cases(`password secret token api_key apikey api-key authorization auth credentials private_key privatekey
      access_token refresh_token client_secret connection_string database_url db_password ssh_key passphrase
      api_tokens db_passwords user_credentials oauth_secrets encryption_keys jwt_tokens
      X-Api-Key password_reset_url token_count credentials_path apiKey API_KEY Database-Url
      my_key some-keys session_token session_tokens app_secret app_secrets user_password user_passwords user_credential`),
  )('%s is sensitive', (key) => {
    expect(redactArgs({ [key]: 'plain' })).toEqual({ [key]: R });
  });

  it.each([
    ...cases(`max_tokens num_tokens total_tokens completion_tokens prompt_tokens cached_tokens reasoning_tokens
      audio_tokens cache_tokens sort_keys index_keys input_tokens output_tokens MAX-TOKENS
      monkey keyboard accessToken auth_header path name author`),
    'api tokens',
  ])('%s is kept', (key) => {
    expect(redactArgs({ [key]: 'plain' })).toEqual({ [key]: 'plain' });
  });

  it('replaces the whole value whatever its type, at any depth', () => {
    expect(redactArgs({ a: [{ token: { x: 1 } }, { secret: 5 }], password: null })).toEqual({
      a: [{ token: R }, { secret: R }],
      password: R,
    });
  });

  it('lets a user-supplied sensitive key beat the safe list, and adds safe keys', () => {
    const own = createRedaction({
      sensitive_keys: ['Max-Tokens', 'ssn'],
      safe_compound_keys: ['token_count'],
    });
    expect(own.redactArgs({ max_tokens: 1, SSN: 2, token_count: 3, token: 4 })).toEqual({
      max_tokens: R,
      SSN: R,
      token_count: 3,
      token: R,
    });
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
  ])('%s is none', (value) => {
    expect(looksSecret(value)).toBe(false);
    expect(redactArgs({ note: value })).toEqual({ note: value });
  });

  it('looks at the start of an argument only, but anywhere in a result', () => {
    const value = `Bearer eyJ${a(20)}.x.y`;
    expect(looksSecret(value)).toBe(false);
    expect(redactArgs([value])).toEqual([value]);
    expect(redactText(`header: ${value} end`)).toBe(`header: Bearer ${R} end`);
  });

  it('keeps values when detection is off, but still redacts keys', () => {
    const own = createRedaction({ detect_secret_values: false, custom_patterns: [['x', 'y']] });
    const value = `sk-${a(20)}`;
    expect(own.redactArgs({ note: value, key: value })).toEqual({ note: value, key: R });
    expect(own.redactText(value)).toBe(value);
  });
});

describe('inline secrets', () => {
  it.each([
    ['export API_KEY=abc123 && run', `export API_KEY=${R} && run`],
    ['export DB_PASSWORD="two words" x', `export DB_PASSWORD=${R} x`],
    ['export MY_TOKEN=a; export B_CREDENTIALS=b', `export MY_TOKEN=${R} export B_CREDENTIALS=${R}`],
    ['export PATH=/bin', 'export PATH=/bin'],
    ['export api_key=abc', 'export api_key=abc'],
    ['API_KEY=abc run', 'API_KEY=abc run'],
    ['mysql -psecret -u me', `mysql -p${R} -u me`],
    ['mysql -p secret', `mysql -p ${R}`],
    ['mkdir -p /tmp/x', `mkdir -p ${R}`],
    ['tool --password=hunter2 x', `tool --password=${R} x`],
    ['tool --password hunter2', `tool --password ${R}`],
    ["tool --password 'two words' x", `tool --password ${R} x`],
    ['git push top-priority', 'git push top-priority'],
    ['postgres://user:pa@ss@host/db', `postgres://user:${R}@host/db`],
    ['redis://:pw@host:6379', `redis://:${R}@host:6379`],
    [
      'see postgres://my-user:pw@host/db and http://a:b@c',
      `see postgres://my-user:${R}@host/db and http://a:${R}@c`,
    ],
    ['https://example.com:8080/x?mail=a@b', 'https://example.com:8080/x?mail=a@b'],
    ['https://example.com/path', 'https://example.com/path'],
  ])('%s', (text, hidden) => {
    expect(redactArgs({ command: text })).toEqual({ command: hidden });
    expect(redactText(text)).toBe(hidden);
  });

  it('applies custom patterns before its own', () => {
    const own = createRedaction({
      custom_patterns: [
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

  it.each([
    ['exports', 'export KEY'],
    ['key names', `export ${'KEY'.repeat(3)}`],
    ['flags', '-p '],
    ['url starts', '://a:'],
    ['odd url starts', '://.:'],
    ['tokens', 'eyJ-'],
    ['ats', '://a.b:@'],
    ['quotes', `export KEY="'`],
  ])('needs linear time for a megabyte of %s', (_name, part) => {
    const text = part.repeat(Math.ceil(1_000_000 / part.length));
    const took = cpuMs(() => {
      redactText(text);
      redactText(`${text}@`);
      redactText(`${text.replaceAll(' ', '')}@`);
    });
    expect(took).toBeLessThan(2000);
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
