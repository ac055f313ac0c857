// Mistakes of a caller: options that are not set, misspelt or of another kind, and files that are none. Each is
// a TypeError that names what is wrong, before anything is done.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Guard, guardServer, guardTools, HubClient } from '../src/index.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - { id: no, type: pre, tool: "*", when: { args.text: { contains: x } }, then: { effect: deny, message: "no" } }
`;
const ok = (): string => 'ok';
const bare = { url: 'https://hub.example.com', apiKey: 'k' };

/** The error from a call of the library, with options as plain JavaScript gives them. */
async function thrown(task: (given: never) => unknown, given: unknown): Promise<Error> {
  try {
    await task(given as never);
  } catch (error) {
    if (error instanceof TypeError && error.name === 'TypeError') return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('options of a guard', () => {
  it.each([
    [{ sesionId: 'a' }, 'there is no option sesionId; did you mean sessionId?'],
    [{ session_id: 'a' }, 'there is no option session_id; did you mean sessionId?'],
    [{ colour: 'red' }, 'there is no option colour'],
    [{ mode: 'strict' }, "option mode must be 'enforce' or 'observe', but is a string"],
    [{ maxEvents: 0 }, 'option maxEvents must be a whole number from 1, but is 0'],
    [{ maxEvents: '5' }, 'option maxEvents must be a whole number from 1, but is a string'],
    [{ hooks: () => {} }, 'option hooks must be a list, but is a function'],
    [{ hooks: [{ run: 'x' }] }, 'option hooks[0].run must be a function, but is a string'],
    [{ hooks: [{ tool: 'x' }] }, 'option hooks[0].run is not set'],
    [{ contracts: [{ id: 'a', type: 'before', check: ok }] }, 'option contracts[0].type must be'],
    [{ sinks: [{}] }, 'option sinks must be a list of sinks (item 0 has no emit())'],
    [{ redaction: { sensitive_keys: ['a'] } }, 'did you mean redaction.sensitiveKeys?'],
    [{ redaction: { sensitiveKeys: 'ssn' } }, 'option redaction.sensitiveKeys must be a list of strings'],
    [{ redaction: { customPatterns: [['a']] } }, 'option redaction.customPatterns must be pairs'],
    [
      { redaction: { customPatterns: [['(', 'x']] } },
      'option redaction.customPatterns must be pairs of a regular expression',
    ],
    [{ principal: { userId: 'ann' } }, 'option principal must be an object with user_id instead of userId'],
    [{ principal: 'ann' }, 'option principal must be an object, but is a string'],
    [{ hub: bare }, 'option hub must be a HubClient, but is an object'],
    [{ onError: 'log' }, 'option onError must be a function'],
    [{ operators: { near: 'x' } }, 'option operators must be an object of functions'],
    [{ spoolFile: tmpdir() }, 'option spoolFile must be the path of a file, not of a folder'],
    [{ strictAudit: 'yes' }, 'option strictAudit must be true or false'],
    [null, 'the options must be an object'],
    [[], 'the options must be an object'],
  ])('%j', async (options, message) => {
    const { message: told } = await thrown((given) => Guard.fromYaml(yaml, given), options);
    expect(told).toContain(message);
  });

  it('that are undefined count as not given', () => {
    const options = { sessionId: undefined, hooks: undefined } as object;
    expect(Guard.fromYaml(yaml, options).sessionId).not.toBe('');
  });

  it('let a principal have fields of its own', () => {
    expect(Guard.fromYaml(yaml, { principal: { user_id: 'a', team: 'b' } as object })).toBeTruthy();
  });
});

describe('options of a connection', () => {
  it.each([
    [{ url: 'https://x' }, 'option apiKey is not set'],
    [{ apiKey: 'k' }, 'option url is not set'],
    [{ ...bare, apiKey: undefined }, 'option apiKey is not set'],
    [
      { ...bare, apiKey: '' },
      'option apiKey must be an API key: printable characters without blanks, but is empty',
    ],
    [{ ...bare, bundlename: 'x' }, 'there is no option bundlename; did you mean bundleName?'],
    [{ ...bare, environment: 'x' }, 'there is no option environment'],
    [
      { ...bare, timeout: '30s' },
      'option timeout must be a positive number of milliseconds, but is a string',
    ],
    [{ ...bare, idleTimeout: -1 }, 'option idleTimeout must be a positive number of milliseconds, but is -1'],
    [{ ...bare, signing: 'on' }, "option signing must be 'if-signed', 'first-seen', 'off', or a list"],
    [{ ...bare, cacheFile: tmpdir() }, 'option cacheFile must be the path of a file, not of a folder'],
    [{ ...bare, cacheFile: 5 }, 'option cacheFile must be the path of a file, but is 5'],
    [{ ...bare, tags: { a: 1 } }, 'option tags must be an object of at most 64 strings'],
    [{ ...bare, url: 'hub.example.com' }, 'option url must be'],
    [undefined, 'the options must be an object'],
  ])('%j', async (options, message) => {
    const { message: told } = await thrown((given) => Guard.connect(given), options);
    expect(told).toContain(message);
    expect(told).not.toContain('30s');
  });

  it('of a client alone', async () => {
    const { message } = await thrown((given) => new HubClient(given), { ...bare, agentID: 'x' });
    expect(message).toBe('there is no option agentID; did you mean agentId?');
  });
});

describe('options of a call', () => {
  const guard = Guard.fromYaml(yaml, { openTelemetry: null });

  it.each([
    [{ principle: null }, 'did you mean principal?'],
    [{ sessionID: 'x' }, 'did you mean sessionId?'],
    [{ metadata: 'x' }, 'option metadata must be an object'],
    [{ signal: true }, 'option signal must be'],
  ])('%j', async (options, message) => {
    const { message: told } = await thrown((given) => guard.run('t', {}, ok, given), options);
    expect(told).toContain(message);
    expect(guard.events.events).toEqual([]);
  });

  it('of a dry run', async () => {
    const { message } = await thrown((given) => guard.evaluate('t', {}, given), { outputs: 'x' });
    expect(message).toContain('did you mean output?');
  });

  it('that is no tool is said before anything is counted', async () => {
    const { message } = await thrown((given) => guard.run('t', {}, given), undefined);
    expect(message).toBe('fn must be a function: the tool itself');
    expect(guard.events.events).toEqual([]);
  });

  it('of adapters', async () => {
    const tools = await thrown((given) => guardTools(guard, {}, given), { onDeny: 'explode' });
    expect(tools.message).toContain("option onDeny must be 'return' or 'throw'");
    const server = await thrown((given) => guardServer(guard, { registerTool: ok }, given), { calls: ok });
    expect(server.message).toContain('did you mean call?');
  });
});

describe('contracts that are none', () => {
  it.each([
    [undefined, 'yaml must be the text or the bytes of a document'],
    [['x: 1', 7], 'yaml must be the text or the bytes of a document'],
    ['./rules/contracts.yaml', 'Guard.fromFile reads ./rules/contracts.yaml'],
  ])('%j', async (given, message) => {
    expect((await thrown((text) => Guard.fromYaml(text), given)).message).toContain(message);
  });

  it('in files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'options-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'good.yaml'), yaml);
    for (const [path, message] of [
      [undefined, 'path must be the path of a YAML file'],
      ['', 'path must be the path of a YAML file'],
      [join(folder, 'none.yaml'), 'none.yaml cannot be read (ENOENT)'],
      [folder, 'cannot be read (EISDIR)'],
      [[join(folder, 'good.yaml'), join(folder, 'none.yaml')], 'none.yaml cannot be read (ENOENT)'],
    ]) {
      expect((await thrown((given) => Guard.fromFile(given), path)).message).toContain(message);
    }
  });
});
