// The official conformance suite of the protocol, on both sides of the proxy: what passes without it passes through it.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itAtNight, rowsOfRun } from '../../../../test/runs.ts';
import { McpListener } from '../../src/cli/mcp/listener.ts';
import { remoteServer } from '../../src/cli/mcp/remote.ts';
import { TaskFiles } from '../../src/cli/mcp/tasks/files.ts';
import { ProxyTasks } from '../../src/cli/mcp/tasks/tasks.ts';
import { systemClock } from '../../src/clock.ts';
import { Guard } from '../../src/index.ts';
import { nodeOfSuite, type Outcomes, runSuite } from './conformance.ts';
import { type ClientRun, runClient } from './conformance-client.ts';
import { legacyExample, modernExample } from './conformance-servers.ts';
import { withTasks } from './conformance-tasks.ts';
import { legacyHttp, modernHttp, type RunningServer } from './pair-servers.ts';
import { noEnv, plainParts, rules } from './setting.ts';

const node = nodeOfSuite();
const guard = Guard.fromYaml(rules(noEnv), { openTelemetry: null });
afterAll(() => guard.close());

type Example = RunningServer & { readonly connect: { readonly url: string } };

function exampleOf(revision: string): Promise<Example> {
  if (revision !== '2026-07-28') return legacyHttp(legacyExample);
  const changed = {
    tools: () => handler.notify.toolsChanged(),
    prompts: () => handler.notify.promptsChanged(),
  };
  const handler = createMcpHandler(() => modernExample(changed), { legacy: 'reject' });
  return modernHttp(withTasks(handler));
}

/** The scenarios of a client, by revision. Those of OAuth are not here: the proxy leaves OAuth to `--header`. */
const clientScenarios = [
  ['2025-11-25', 'initialize'],
  ['2025-11-25', 'tools_call'],
  ['2025-11-25', 'elicitation-sep1034-client-defaults'],
  ['2025-11-25', 'sse-retry'],
  ['2026-07-28', 'tools_call'],
  ['2026-07-28', 'request-metadata'],
  ['2026-07-28', 'sep-2322-client-request-state'],
  ['2026-07-28', 'http-standard-headers'],
  ['2026-07-28', 'http-custom-headers'],
  ['2026-07-28', 'http-invalid-tool-headers'],
  ['2026-07-28', 'json-schema-ref-no-deref'],
] as const;

/** The clients of the runs, one path for each way. */
const clients = createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const run = JSON.parse(Buffer.concat(parts).toString('utf8')) as ClientRun;
  response.end(await runClient(run, request.url === '/through' ? guard : null).catch(String));
});
beforeAll(() => new Promise<void>((resolve) => clients.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => clients.close(resolve)));

const runClientSide = (way: 'alone' | 'through', revision: string, scenario: string): Promise<Outcomes> => {
  const { port } = clients.address() as AddressInfo;
  const relay = join(import.meta.dirname, 'conformance-relay.mjs');
  const command = `${process.execPath} ${relay} http://127.0.0.1:${port}/${way}`;
  return runSuite(node ?? '', [
    'client',
    '--command',
    command,
    '--scenario',
    scenario,
    '--spec-version',
    revision,
  ]);
};

/** Of the suite with one scenario, in milliseconds. */
const patience = ['--timeout', '120000'];

/** Scenarios that do not pass through the proxy, with the reason. */
const exceptions: readonly (readonly [scenario: RegExp, reason: string])[] = [];

/** Checks that pass in the first run and not in the second. */
const lost = (alone: Outcomes, through: Outcomes): string[] =>
  [...alone].flatMap(([key, { passes }]) => {
    const other = through.get(key);
    const isExcepted = exceptions.some(([scenario]) => scenario.test(key));
    return passes && other?.passes !== true && !isExcepted
      ? [`${key}: ${other?.message ?? 'not reached'}`]
      : [];
  });

/**
 * The suite waits for tasks and progress as long as it sees fit, which may be too short while two runs share a busy
 * machine: what was lost is run again, by itself.
 */
async function againAlone(
  missing: readonly string[],
  run: (scenario: string) => Promise<Outcomes>,
): Promise<string[]> {
  const remaining: string[] = [];
  for (const line of missing) {
    const [scenario = ''] = line.replace(/^server-/, '').split(':', 1);
    const outcomes = await run(scenario);
    const isPassed = [...outcomes].some(([key, { passes }]) => passes && line.startsWith(`${key}: `));
    if (!isPassed) remaining.push(line);
  }
  return remaining;
}

describe.skipIf(node === null)('the conformance suite', () => {
  it.each(rowsOfRun(['2026-07-28', '2025-11-25'], 1))(
    'passes through the proxy as it passes without, in %s',
    { timeout: 300_000 },
    async (revision) => {
      const example = await exampleOf(revision);
      const folder = await mkdtemp(join(tmpdir(), 'reeve-mcp-conformance-'));
      const writeLog = (): void => {};
      const files = new TaskFiles(folder, systemClock);
      const listener = new McpListener(
        {
          ...plainParts(guard, systemClock),
          tasks: new ProxyTasks({
            files,
            guard,
            writeLog,
            clock: systemClock,
            owner: 'suite',
            scope: 'suite',
          }),
          connect: remoteServer({ url: example.connect.url, headers: {}, clock: systemClock }),
        },
        { host: '127.0.0.1', port: 0, token: null },
      );
      const port = await listener.start();
      try {
        const run = (url: string) =>
          runSuite(node ?? '', ['server', '--requirements', revision, ...patience, '--url', url]);
        const [alone, through] = await Promise.all([
          run(example.connect.url),
          run(`http://127.0.0.1:${port}/mcp`),
        ]);
        const passing = [...alone].flatMap(([key, { passes }]) => (passes ? [key] : []));
        expect(passing.length).toBeGreaterThan(30);
        if (revision === '2026-07-28')
          expect(passing.filter((key) => key.startsWith('server-tasks-')).length).toBeGreaterThan(40);
        const remaining = await againAlone(lost(alone, through), (scenario) =>
          runSuite(node ?? '', [
            ...['server', '--scenario', scenario, '--spec-version', revision, '--force', ...patience],
            ...['--url', `http://127.0.0.1:${port}/mcp`],
          ]),
        );
        expect(remaining).toEqual([]);
      } finally {
        await listener.close();
        await example.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  // Per commit pairs.test.ts has the clients of both eras, and this file the servers.
  itAtNight.each(clientScenarios)(
    'passes behind the proxy as it passes without, in %s: %s',
    { timeout: 120_000 },
    async (revision, scenario) => {
      const [alone, through] = await Promise.all([
        runClientSide('alone', revision, scenario),
        runClientSide('through', revision, scenario),
      ]);
      expect(alone.size).toBeGreaterThan(0);
      expect(lost(alone, through)).toEqual([]);
    },
  );
});
