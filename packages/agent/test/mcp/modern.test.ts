// Clients and servers of revision 2026-07-28, as their SDK makes them, with the proxy between them.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { itAtNight } from '../../../../test/runs.ts';
import { testProgram } from '../../../../test/test-program.ts';
import { programArgs } from '../program.ts';
import { noEnv, rules } from './setting.ts';

const numbers =
  '{ id: numbers, type: post, tool: "*", when: { all: [{ args.path: { equals: phones } }, { output.text: { matches: "[0-9]{3}-[0-9]{4}" } }] }, then: { effect: redact, message: hidden } }';
const asking =
  '{ id: ask-first, type: pre, tool: read, when: { args.path: { equals: diary } }, then: { effect: approve, message: "read {args.path}?", timeout: 30, metadata: { elicit: true } } }';

let folder = '';
let serverProgram = '';
/** Of the contracts that most tests need. */
let shared: Client;
let client: Client;
const others: Client[] = [];
const journal = () => join(folder, 'journal');
const executed = async () => (await readFile(journal(), 'utf8')).split('\n').filter((line) => line !== '');

async function connect(contracts: string[], ...options: string[]): Promise<Client> {
  const newClient = new Client(
    { name: 'test', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: { pin: '2026-07-28' }, probe: { timeoutMs: 60_000 } },
    },
  );
  const file = join(folder, `${others.length}.yaml`);
  await writeFile(file, rules(...contracts));
  const server = [process.execPath, serverProgram, journal()];
  const args = [...programArgs(), 'mcp', '--contracts', file, ...options, '--', ...server];
  others.push(newClient);
  await newClient.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
  return newClient;
}
const call = (name: string, args: { [name: string]: unknown } = {}) =>
  client.callTool({ name, arguments: args });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-mcp-modern-'));
  serverProgram = await testProgram(join(import.meta.dirname, 'modern-server.ts'));
  shared = await connect([noEnv, numbers, asking]);
});
afterAll(async () => {
  for (const one of others) await one.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await writeFile(journal(), '');
  client = shared;
});

describe('a client of revision 2026-07-28 before a server of it', () => {
  it('calls tools, and reads why a call is refused', async () => {
    expect(await call('read', { path: 'notes' })).toMatchObject({
      content: [{ type: 'text', text: 'contents of notes, call 555-1234' }],
    });
    expect(await call('read', { path: '.env' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Denied: secrets' }],
    });
    expect(await executed()).toEqual(['read notes']);
  });

  it('gets what a contract leaves of a result, and nothing of the protocol in it', async () => {
    const { content } = await call('read', { path: 'phones' });
    expect(content).toEqual([
      { type: 'text', text: expect.stringMatching(/^contents of phones, call \S+$/) },
    ]);
    expect(JSON.stringify(content)).not.toContain('555-1234');
  });

  it('is refused names of arguments that the server may read as others', async () => {
    await expect(call('read', { path: 'notes', Path: '.env' })).rejects.toMatchObject({ code: -32_602 });
    expect(await executed()).toEqual([]);
  });

  itAtNight('keeps lists to itself, and not for long', async () => {
    const noReads =
      '{ id: no-reads, type: pre, tool: read, when: { tool.name: { exists: true } }, then: { effect: deny, message: no } }';
    client = await connect([noReads], '--hide');
    expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: true } });
    const list = await client.listTools();
    expect(list.tools.map(({ name }) => name)).toEqual(['ask']);
    expect(list.cacheScope).toBe('private');
    expect(list.ttlMs).toBeLessThanOrEqual(60_000);
  });

  it('goes on with a server that was started again', async () => {
    await expect(call('read', { path: 'end' })).rejects.toThrow('before it answered');
    expect(await call('read', { path: 'notes' })).not.toHaveProperty('isError', true);
    expect(await executed()).toEqual(['read end', 'read notes']);
  });
});

describe('a call in several rounds', () => {
  const yes = { sure: { action: 'accept', content: { sure: true } } };
  const once =
    '{ id: once, type: session, limits: { max_calls_per_tool: { ask: 1 } }, then: { effect: deny, message: once } }';
  const byHand = (name: string, args: object, more: object = {}) =>
    client.request(
      { method: 'tools/call', params: { name, arguments: args, ...more } } as never,
      { allowInputRequired: true } as never,
    ) as Promise<{ requestState?: string; inputRequests?: { [name: string]: unknown } }>;

  it('reaches the server with its own state and the answers, and counts once', async () => {
    client = await connect([once]);
    const first = await byHand('ask', {});
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { sure: {} } });
    // Decoded: three letters of base64 stand there by chance.
    expect(Buffer.from(String(first.requestState), 'base64url').toString('latin1')).not.toContain('own');
    const retry = { inputResponses: yes, requestState: first.requestState };
    const answer = await byHand('ask', {}, retry);
    expect(answer).toMatchObject({ content: [{ text: 'done' }] });
    // A client that lost the answer gets it again, and the server does not get the call again.
    expect(await byHand('ask', {}, retry)).toEqual(answer);
    expect(await executed()).toEqual(['ask', 'answered own state']);
    expect(await byHand('ask', {})).toMatchObject({ isError: true, content: [{ text: 'Denied: once' }] });
  });

  it('is refused with another state, other arguments or no state, and nothing runs', async () => {
    const { requestState = '' } = await byHand('ask', {});
    const refused = { code: -32_602 };
    const retry = { inputResponses: yes };
    await expect(byHand('ask', {}, retry)).rejects.toMatchObject(refused);
    await expect(byHand('ask', { a: 1 }, { ...retry, requestState })).rejects.toMatchObject(refused);
    const forged = `${requestState.slice(0, -4)}AAAA`;
    await expect(byHand('ask', {}, { ...retry, requestState: forged })).rejects.toMatchObject(refused);
    expect(await executed()).toEqual(['ask']);
    expect(await byHand('ask', {}, { ...retry, requestState })).toMatchObject({
      content: [{ text: 'done' }],
    });
  });

  it('asks the client’s own user for an approval, once', async () => {
    const first = await byHand('read', { path: 'diary' });
    expect(first).toMatchObject({
      resultType: 'input_required',
      inputRequests: { 'reeve.approval': { method: 'elicitation/create', params: { mode: 'form' } } },
    });
    expect(await executed()).toEqual([]);
    const decide = (approve: boolean, requestState = first.requestState) =>
      byHand(
        'read',
        { path: 'diary' },
        {
          inputResponses: { 'reeve.approval': { action: 'accept', content: { approve } } },
          requestState,
        },
      );
    expect(await decide(true)).toMatchObject({ content: [{ text: 'contents of diary, call 555-1234' }] });
    expect(await executed()).toEqual(['read diary']);
    const { requestState } = await byHand('read', { path: 'diary' });
    expect(await decide(false, requestState)).toMatchObject({ isError: true });
    expect(await executed()).toEqual(['read diary']);
  });
});
