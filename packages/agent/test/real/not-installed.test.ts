// The library where nothing else is installed: its own files and the YAML reader, no OpenTelemetry, no framework, no server.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../../..');
const program = `
import { Guard, guardTools } from 'reeve-agent';
const missing = await import('@opentelemetry/api').then(() => 'installed', (failure) => failure.code);
const guard = Guard.fromYaml(\`
apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when: { args.path: { contains: ".env" } }
    then: { effect: deny, message: "secrets" }
\`);
const tools = guardTools(guard, { read_file: { execute: async ({ path }) => 'read ' + path } });
console.log(missing, await tools.read_file.execute({ path: 'a' }, {}), await tools.read_file.execute({ path: '.env' }, {}));
console.log(guard.events.events.map((event) => event.action).join(' '));
`;

describe('the library alone', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reeve-alone-'));
    await mkdir(join(folder, 'node_modules'));
    await cp(join(root, 'node_modules/yaml'), join(folder, 'node_modules/yaml'), { recursive: true });
    for (const part of ['package.json', 'dist']) {
      await cp(join(root, 'packages/agent', part), join(folder, 'node_modules/reeve-agent', part), {
        recursive: true,
      });
    }
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'program.js'), program);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('needs no server code, and says nothing about telemetry that is not there', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['program.js'], { cwd: folder });
    expect(stdout).toBe(
      'ERR_MODULE_NOT_FOUND read a Denied: secrets\ncall_allowed call_executed call_denied\n',
    );
    expect(stderr).toBe('');
  });
});
