// The client of the conformance runs, before the server that the suite starts: alone, or through the proxy.
import { PassThrough } from 'node:stream';
import { StdioServerTransport as Lines } from '@modelcontextprotocol/server/stdio';
import { remoteServer } from '../../src/cli/mcp/remote.ts';
import { serveStdio } from '../../src/cli/mcp/stdio.ts';
import { systemClock } from '../../src/clock.ts';
import type { Guard } from '../../src/index.ts';
import { legacyClient, legacyTransport, modernClient, modernTransport, type Wire } from './pair-clients.ts';
import { type Json, plainParts } from './setting.ts';

/** The suite's requests to a client. */
export interface ClientRun {
  readonly url: string;
  readonly scenario: string;
  readonly revision: string;
  readonly context: { readonly toolCalls?: readonly { readonly name: string; readonly arguments: Json }[] };
}

function throughProxy(url: string, guard: Guard): { readonly transport: Wire; end(): Promise<unknown> } {
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(
    {
      ...plainParts(guard, systemClock),
      connect: remoteServer({ url, headers: {}, clock: systemClock }),
    },
    input,
    output,
    () => {},
  );
  return {
    transport: new Lines(output, input) as Wire,
    end: async () => {
      input.end();
      await served;
    },
  };
}

/** @param guard of the proxy; null: no proxy @returns what the client got, for people */
export async function runClient(run: ClientRun, guard: Guard | null): Promise<string> {
  const { url, scenario, revision, context } = run;
  const isModern = revision === '2026-07-28';
  const lines: string[] = [];
  const noted = async (what: string, work: Promise<unknown>): Promise<void> => {
    lines.push(`${what}: ${await work.then(JSON.stringify, String)}`);
  };
  const client = isModern ? modernClient() : legacyClient();
  const direct = isModern ? modernTransport : legacyTransport;
  const proxy = guard ? throughProxy(url, guard) : null;
  await noted('connect', client.connect(proxy?.transport ?? direct(url)));
  const names = await client.tools().catch(() => []);
  const argumentsOf = (name: string): Json => (name === 'add_numbers' ? { a: 5, b: 3 } : {});
  for (const { name, arguments: args } of context.toolCalls ??
    names.map((name) => ({ name, arguments: argumentsOf(name) })))
    await noted(name, client.call(name, args));
  if (scenario === 'http-standard-headers') {
    for (const uri of await client.resources()) await noted(uri, client.resource(uri));
    for (const name of await client.prompts()) await noted(name, client.prompt(name, {}));
  }
  await client.close();
  await proxy?.end();
  return lines.join('\n');
}
