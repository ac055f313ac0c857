// Every snippet of docs/agent-guide.md, run as a program of its own, prints what the guide says.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compiled } from '../../../test/compiled.ts';
import { sha256 } from '../src/bundle/signature.ts';
import { FakeHub } from './fake-hub.ts';

const root = join(import.meta.dirname, '../../..');
const guide = await readFile(join(root, 'docs/agent-guide.md'), 'utf8');
const snippets = [
  ...guide.matchAll(/^## ([^\n]+)\n(?:(?!^## )[\s\S])*?```js\n([\s\S]*?)```\s*(?:```text\n([\s\S]*?)```)?/gm),
].map(([, title, code, output]) => ({ title: title ?? '', code: code ?? '', output: output ?? '' }));

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when: { args.path: { contains: ".env" } }
    then: { effect: deny, message: "secrets" }
`;

describe('the agent guide', () => {
  const hub = new FakeHub();
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'guide-'));
    // Imports of the snippets beside the library.
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await hub.start();
    hub.on('GET /bundles/guardrails/current', {
      body: {
        name: 'guardrails',
        version: 1,
        revision_hash: sha256(Buffer.from(yaml)),
        yaml_bytes: Buffer.from(yaml).toString('base64'),
      },
    });
    hub.on('GET /stream', () => 'stream');
    hub.on('POST /agents/report', { body: {} });
    hub.on('POST /events', { body: { accepted: 2, duplicates: 0 } });
  });
  afterAll(async () => {
    await hub.stop();
    await rm(folder, { recursive: true });
  });

  it('has a snippet with output for each of its main sections', () => {
    expect(snippets.map((snippet) => snippet.title)).toHaveLength(12);
    expect(snippets.filter((snippet) => snippet.output === '')).toEqual([]);
    expect(guide.match(/```js/g)).toHaveLength(12);
  });

  it.each(snippets)('runs as written: $title', async ({ title, code, output }) => {
    const library = compiled('packages/agent/src/index.ts');
    const addressOf = (source: string): string =>
      String(compiled(source) ?? pathToFileURL(join(root, source)));
    const file = join(folder, `${title.replace(/\W+/g, '-')}.mjs`);
    await writeFile(
      file,
      code
        .replaceAll("'reeve-agent'", `'${addressOf('packages/agent/src/index.ts')}'`)
        .replaceAll("'reeve-agent/exec'", `'${addressOf('packages/agent/src/exec/index.ts')}'`),
    );
    const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      library ? [file] : ['--import', loader, file],
      {
        cwd: folder,
        env: { ...process.env, REEVE_URL: hub.url, REEVE_KEY: 'svk_production_guide' },
        timeout: 15_000,
      },
    );
    expect(stdout).toBe(output);
  });

  it('has delivered the connected agent’s events, and left nothing in its spool', async () => {
    expect(
      hub
        .seen('POST /events')
        .flatMap((request) => request.body.events.map((event: { verdict: string }) => event.verdict)),
    ).toEqual(['call_allowed', 'call_executed']);
    expect(await readFile(join(folder, 'events.spool.jsonl'), 'utf8')).toBe('');
  });
});
