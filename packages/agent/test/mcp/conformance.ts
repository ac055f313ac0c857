// Runs the official conformance suite, which needs Node 22, and reads what it found.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const packageFile = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const root = join(import.meta.dirname, '../../../..');

/** The program of a Node that runs the suite; null when none can be had. */
export function nodeOfSuite(): string | null {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  const folder = join(root, 'node_modules/.cache/nodes/22');
  const binary = join(folder, 'node_modules/node/bin/node');
  try {
    if (!existsSync(binary)) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
      const install = ['install', '--no-save', '--no-audit', '--no-fund', 'node@22'];
      execFileSync('npm', install, { cwd: folder, stdio: 'pipe', timeout: 300_000 });
    }
    return binary;
  } catch (failure) {
    console.warn(
      `The conformance suite is left out: ${failure instanceof Error ? failure.message : failure}`,
    );
    return null;
  }
}

interface Check {
  readonly id: string;
  readonly name: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

/** Checks by `scenario: check`; one that was made several times has its worst outcome. */
export type Outcomes = ReadonlyMap<string, { readonly passes: boolean; readonly message: string }>;

/** @param args of the suite's program, without the folder of its results */
export async function runSuite(node: string, args: readonly string[], env: object = {}): Promise<Outcomes> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-mcp-conformance-'));
  try {
    const program = join(dirname(packageFile), 'dist/index.js');
    const child = spawn(node, [program, ...args, '-o', folder], {
      env: { ...process.env, ...env },
      stdio: 'ignore',
    });
    await new Promise((resolve) => child.once('close', resolve));
    const outcomes = new Map<string, { passes: boolean; message: string }>();
    for (const file of (await readdir(folder, { recursive: true })).filter((one) =>
      one.endsWith('checks.json'),
    )) {
      const scenario = dirname(file).replace(/-\d{4}-\d\d-\d\dT.*$/, '');
      for (const { id, name, status, errorMessage = '' } of JSON.parse(
        await readFile(join(folder, file), 'utf8'),
      ) as Check[]) {
        if (status === 'INFO') continue;
        const key = `${scenario}: ${id} ${name}`;
        const passes = status !== 'FAILURE' && (outcomes.get(key)?.passes ?? true);
        outcomes.set(key, { passes, message: errorMessage || (outcomes.get(key)?.message ?? '') });
      }
    }
    return outcomes;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
