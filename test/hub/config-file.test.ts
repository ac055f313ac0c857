// Settings from a file: below the environment, in one place with it, and refused with the name of what is wrong.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, readConfig, readFolderSettings, settings, showSettings } from '../../src/hub/config.ts';
import { run } from '../e2e/process.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function fileWith(text: string): string {
  const path = join(folder, `${++files}.yaml`);
  writeFileSync(path, text);
  return path;
}

const problemsOf = (text: string): readonly string[] => {
  try {
    readConfig({ REEVE_CONFIG: fileWith(text) });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('a settings file', () => {
  it('gives numbers, switches, texts and lists', () => {
    const path = fileWith(`
PORT: 9000
OPENAPI_PUBLIC: false
DATA_DIR: /var/lib/reeve
CORS_ORIGINS: [https://a.example.com, https://b.example.com]
SECRET_KEY: '0123456789012345678901234567890123'
`);
    expect(readConfig({ REEVE_CONFIG: path })).toMatchObject({
      port: 9000,
      openApiPublic: false,
      dataDir: '/var/lib/reeve',
      corsOrigins: ['https://a.example.com', 'https://b.example.com'],
      secretKey: '0123456789012345678901234567890123',
    });
    expect(readFolderSettings({ REEVE_CONFIG: path })).toMatchObject({ dataDir: '/var/lib/reeve' });
  });

  it('gives way to the environment, also where that names the file of a secret', () => {
    const secret = fileWith('a secret from a file of its own, long enough');
    const path = fileWith(`PORT: 9000\nHOST: 127.0.0.1\nSECRET_KEY: ${'x'.repeat(40)}\n`);
    const environment = { REEVE_CONFIG: path, PORT: '9100', SECRET_KEY_FILE: secret };
    expect(readConfig(environment)).toMatchObject({
      port: 9100,
      host: '127.0.0.1',
      secretKey: 'a secret from a file of its own, long enough',
    });
    const inForce = new Map(showSettings(environment).map((one) => [one.name, one]));
    expect(inForce.get('PORT')).toMatchObject({ value: '9100', source: 'environment' });
    expect(inForce.get('HOST')).toMatchObject({ value: '127.0.0.1', source: 'file' });
    expect(inForce.get('SECRET_KEY')).toMatchObject({ value: '***', source: 'secret_file' });
    expect(inForce.get('LOG_LEVEL')).toMatchObject({ value: 'info', source: 'default' });
    expect(inForce.size).toBe(settings.length);
  });

  it.each([
    ['PROT: 1', 'Did you mean PORT?'],
    ['port: 1', 'Did you mean PORT?'],
    ['REEVE_CONFIG: other.yaml', 'is not a setting'],
    ['PORT: { a: 1 }', 'must be a text, a number, true, false or a list of texts'],
    ['SECRET_KEY: 01234567890123456789012345678901', 'must be a text in quotes'],
    ['- PORT', 'must contain a mapping'],
    ['PORT: 1\nPORT: 2', 'line 2'],
    ['PORT: [', 'line 1'],
    [`# ${'x'.repeat(300_000)}`, 'at most 256 KiB'],
    ['PORT: 70000', 'must be a whole number from 0 to 65535'],
  ])('is refused for %j', (text, words) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(words);
  });

  it('is refused when it is not there', () => {
    expect(() => readConfig({ REEVE_CONFIG: join(folder, 'absent.yaml') })).toThrow('readable file');
  });
});

describe('reeve config', () => {
  it('shows values and sources, and no secret', async () => {
    const path = fileWith('LOG_LEVEL: warn\n');
    const { code, text } = await run({ OPERATOR_TOKEN: 'o'.repeat(40) }, [
      'config',
      'show',
      '--config',
      path,
    ]);
    expect(code).toBe(0);
    expect(text).toMatch(/^LOG_LEVEL +warn +\(file\)$/m);
    expect(text).toMatch(/^OPERATOR_TOKEN +\*\*\* +\(environment\)$/m);
    expect(text).not.toContain('oooo');
  });

  it('checks settings as a start does: exit code 1 and every problem', async () => {
    expect(await run({}, ['config', 'check'])).toMatchObject({
      code: 0,
      text: expect.stringContaining('All settings fit'),
    });
    const wrong = await run({}, [
      'config',
      'check',
      '--json',
      `--config=${fileWith('LOG_LEVEL: x\nHOSTS: y\n')}`,
    ]);
    expect(wrong.code).toBe(1);
    expect(JSON.parse(wrong.text)).toMatchObject({
      ok: false,
      problems: [expect.stringContaining('HOSTS'), expect.stringContaining('LOG_LEVEL')],
    });
  });

  it('writes a template that changes nothing, and fits when every line is in force', async () => {
    const { text } = await run({}, ['config', 'template']);
    expect(problemsOf(text)).toEqual([]);
    const lines = text.split('\n').map((line) => line.replace(/^# ([A-Z_]+: )/, '$1'));
    expect(problemsOf(lines.join('\n'))).toEqual([]);
    expect(lines.filter((line) => /^[A-Z_]+: /.test(line))).toHaveLength(settings.length - 1);
  });

  it('ends with 1 and a line for a file that cannot be read', async () => {
    const show = (...args: string[]) =>
      run({ REEVE_CONFIG: join(folder, 'absent.yaml') }, ['config', ...args]);
    const { code, text } = await show('show');
    expect(code).toBe(1);
    expect(text).toMatch(/^REEVE_CONFIG: must name a readable file.*\n$/);
    expect(JSON.parse((await show('show', '--json')).text)).toMatchObject({
      error: { code: 'unprocessable' },
    });
  });

  it('ends with 2 for wrong use', async () => {
    expect(await run({}, ['config', 'list'])).toMatchObject({ code: 2 });
    expect(await run({}, ['config', 'show', '--config'])).toMatchObject({ code: 2 });
  });
});
