// Settings: defaults, every problem told at once, and a help text that names them all.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, helpText, readConfig, readFolderSettings, settings } from '../../src/hub/config.ts';
import { secretSettings } from '../../src/hub/environment.ts';

const problemsOf = (env: { [name: string]: string }): readonly string[] => {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('settings', () => {
  it('runs embedded on port 8000 with nothing set', () => {
    expect(readConfig({})).toMatchObject({
      port: 8000,
      baseUrl: 'http://localhost:8000',
      dataDir: './data',
      cluster: null,
      wire: { agentIdHeaders: ['x-service-agent-id'], sessionCookie: 'service_session', keyPrefix: 'svk_' },
    });
  });

  it('tells all problems at once', () => {
    expect(
      problemsOf({
        PORT: 'x',
        SECRET_KEY: 'short',
        CORS_ORIGINS: '*',
        TRUSTED_PROXIES: 'here',
        REDIS_URL: 'redis://localhost',
      }),
    ).toHaveLength(5);
  });

  it.each([
    ['PORT', '70000'],
    ['BASE_URL', 'ftp://x'],
    ['BASE_URL', 'https://hub.example.com/reeve'],
    ['BASE_URL', 'https://user:pass@hub.example.com'],
    ['SECRET_KEY_FILE', '/does/not/exist'],
    ['ALLOW_PRIVATE_OUTBOUND', 'yes'],
    ['ADMIN_EMAIL', 'someone@example.com'],
    ['OPERATOR_TOKEN', 'short'],
    ['SETUP_TOKEN', 'fifteen letters'],
    ['METRICS_TOKEN', 'fifteen letters'],
    ['METRICS_PORT', '8000'],
    ['METRICS_PORT', '65536'],
    ['METRICS_TENANTS', '101'],
    ['METRICS_TENANTS', '-1'],
    ['APPROVALS_PER_MINUTE', '0'],
    ['INGEST_EVENTS_PER_MINUTE', '-1'],
    ['SESSION_TTL_HOURS', '0'],
    ['CORS_ORIGINS', 'https://a.example/path'],
    ['TRUSTED_PROXIES', '10.0.0.0/40'],
    ['OUTBOUND_ALLOW', 'models.internal'],
    ['OUTBOUND_ALLOW', 'http://models.internal:11434'],
    ['OUTBOUND_ALLOW', 'models.internal:70000'],
    ['LOG_LEVEL', 'loud'],
    ['WIRE_SIGNATURE_ENCODING', 'base32'],
    ['WIRE_AGENT_ID_HEADERS', 'X Bad'],
    ['WIRE_KEY_PREFIX', 'a b'],
  ])('refuses %s=%s and names it', (name, value) => {
    expect(problemsOf({ [name]: value }).join()).toContain(name);
  });

  it('takes one vocabulary for every switch', () => {
    for (const word of ['true', 'on', '1', 'ON']) {
      const env = { ALLOW_PRIVATE_OUTBOUND: word, OPENAPI_PUBLIC: word, OPERATOR_TOKENS: word };
      const isOn = { allowPrivateOutbound: true, openApiPublic: true, operatorTokens: true };
      expect(readConfig(env)).toMatchObject(isOn);
    }
    for (const word of ['false', 'off', '0']) {
      const env = { ALLOW_PRIVATE_OUTBOUND: word, OPENAPI_PUBLIC: word, OPERATOR_TOKENS: word };
      const isOff = { allowPrivateOutbound: false, openApiPublic: false, operatorTokens: false };
      expect(readConfig(env)).toMatchObject(isOff);
    }
    const oidc = { OIDC_ISSUER: 'https://idp.example.com', OIDC_AUDIENCE: 'hub', AUTO_PROVISION: 'true' };
    expect(readConfig(oidc).oidc).toMatchObject({ autoProvision: true });
  });

  it.each(['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_AUDIENCE'])(
    'refuses %s without the issuer, which would leave sign-in off without a word',
    (name) => {
      expect(problemsOf({ [name]: 'x' })).toEqual([`OIDC_ISSUER: must be set with ${name}`]);
    },
  );

  it('reads each secret from a file, and refuses one that is given twice', () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-config-'));
    const file = join(folder, 'key');
    writeFileSync(file, `${'k'.repeat(40)}\n`);
    expect(readConfig({ SECRET_KEY_FILE: file }).secretKey).toBe('k'.repeat(40));
    expect(readFolderSettings({ SECRET_KEY_FILE: file }).secretKey).toBe('k'.repeat(40));
    expect(problemsOf({ SECRET_KEY_FILE: file, SECRET_KEY: 'x'.repeat(40) })).toEqual([
      'SECRET_KEY, SECRET_KEY_FILE: are both set. Remove one',
    ]);
    for (const name of secretSettings) {
      const missing = { [`${name}_FILE`]: join(folder, 'missing') };
      expect(problemsOf(missing).join()).toContain(join(folder, 'missing'));
    }
    rmSync(folder, { recursive: true });
  });

  it('refuses a secret file of blank lines, which would mean that the setting is not set', () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-config-'));
    const file = join(folder, 'key');
    for (const text of ['', '\n', '\n\n', ' \r\n\t\n']) {
      writeFileSync(file, text);
      for (const name of secretSettings)
        expect(problemsOf({ [`${name}_FILE`]: file }), JSON.stringify(text)).toContain(
          `${name}_FILE: must name a readable file that is not empty; the value is ${file}`,
        );
    }
    rmSync(folder, { recursive: true });
  });

  it('names every secret that can be a file in the help and in the guide', () => {
    const guide = readFileSync(new URL('../../docs/cluster.md', import.meta.url), 'utf8');
    for (const name of secretSettings) expect(guide).toContain(`\`${name}_FILE\``);
    const secretNames = settings
      .map(({ name }) => name)
      .filter((name) => /SECRET$|SECRET_KEY|PASSWORD$|TOKEN$|OTLP_HEADERS$|(?:MONGODB|REDIS)_URL/.test(name));
    expect([...secretSettings].sort()).toEqual(secretNames.sort());
    expect(helpText().replace(/\s+/g, ' ')).toContain(
      'SECRET_KEY, ADMIN_PASSWORD, SETUP_TOKEN, OPERATOR_TOKEN, OIDC_CLIENT_SECRET, METRICS_TOKEN, ' +
        'OTEL_EXPORTER_OTLP_HEADERS, MONGODB_URL and REDIS_URL can come from a file',
    );
  });

  it('warns of variables one letter beside a setting, and of no others', () => {
    const env = {
      TRUSTED_PROXY: '',
      TRUSTED_PROXIE: '10.0.0.1',
      PROT: '1',
      SECRET_KEYFILE: 'x',
      PATH: '',
      HOME: '',
    };
    expect(readConfig(env).warnings).toEqual([
      'TRUSTED_PROXIE is not a setting and has no effect. Did you mean TRUSTED_PROXIES?',
      'PROT is not a setting and has no effect. Did you mean PORT?',
      'SECRET_KEYFILE is not a setting and has no effect. Did you mean SECRET_KEY_FILE?',
    ]);
    expect(readConfig({ PORT: '1', PROT: '2' }).warnings).toEqual([]);
  });

  it('asks for a shared secret in a cluster', () => {
    expect(
      problemsOf({ MONGODB_URL: 'mongodb://localhost', REDIS_URL: 'redis://localhost' }).join(),
    ).toContain('SECRET_KEY');
  });

  it('prints every setting in its help', () => {
    expect(settings.filter(({ name }) => !helpText().includes(name))).toEqual([]);
  });
});
