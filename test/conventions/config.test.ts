// Settings: defaults, every problem told at once, and a help text that names them all.
import { describe, expect, it } from 'vitest';
import { ConfigError, helpText, readConfig, settings } from '../../src/config.ts';

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
    ['ADMIN_EMAIL', 'someone@example.com'],
    ['OPERATOR_TOKEN', 'short'],
    ['SETUP_TOKEN', 'fifteen letters'],
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

  it('asks for a shared secret in a cluster', () => {
    expect(
      problemsOf({ MONGODB_URL: 'mongodb://localhost', REDIS_URL: 'redis://localhost' }).join(),
    ).toContain('SECRET_KEY');
  });

  it('prints every setting in its help', () => {
    expect(settings.filter(({ name }) => !helpText().includes(name))).toEqual([]);
  });
});
