// The demo as a person and a script run it: what it prints, how it ends, and that nothing stays behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';

const main = new URL('../../dist/demo/main.js', import.meta.url).pathname;

let folder: string;
let mark: string;
beforeEach(() => {
  if (!existsSync(main)) throw new Error('dist is missing: run npm run build first');
  folder = mkdtempSync(join(tmpdir(), 'demo-test-'));
  mark = randomUUID();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const start = (...args: string[]): ChildProcess =>
  spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH ?? '', TMPDIR: folder, DEMO_MARK: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
const textOf = async (stream: NodeJS.ReadableStream | null): Promise<string> => {
  let text = '';
  for await (const part of stream ?? []) text += part;
  return text;
};
const play = async (...args: string[]) => {
  const child = start(...args);
  const [out, error, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'exit'),
  ]);
  return { out, error, code };
};

/** Processes that were started with this test's mark in their environment. */
const processesLeft = (): string[] =>
  existsSync('/proc/self/environ')
    ? readdirSync('/proc').filter((id) => {
        try {
          return /^\d+$/.test(id) && readFileSync(`/proc/${id}/environ`, 'utf8').includes(mark);
        } catch {
          return false;
        }
      })
    : [];
const nothingStays = (): void => {
  expect(readdirSync(folder)).toEqual([]);
  expect(processesLeft()).toEqual([]);
};

/** A waiting demo: its JSON steps, up to the call that is held. */
const untilHeld = async (child: ChildProcess) => {
  const steps: { readonly [name: string]: unknown }[] = [];
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const rest = (async () => {
    for await (const line of lines) steps.push(JSON.parse(line));
  })();
  lines.resume();
  const held = await new Promise<{ readonly approve: string }>((resolve, reject) => {
    lines.on('line', (line) => {
      const step = JSON.parse(line);
      if (step.step === 'held') resolve(step);
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code}`)));
  });
  return { steps, held, rest };
};

describe('npm run demo', () => {
  it('plays by itself with --once: says what was allowed, denied, redacted, held and kept by the hub', async () => {
    const { out, error, code } = await play('--once');
    expect(error).toBe('');
    expect(code).toBe(0);
    for (const words of [
      'A hub runs at http://127.0.0.1:',
      'ALLOWED   read_file notes.txt → release notes',
      'DENIED    read_file .env did not run. no-secrets: .env holds secrets',
      'DENIED    read_file /etc/passwd did not run. stay-in-the-workspace:',
      'ALLOWED   run_command wc -l notes.txt → ',
      'DENIED    run_command rm notes.txt did not run. stay-in-the-workspace:',
      'REDACTED  find_customer ann → {"name":"Ann","phone":"[REDACTED]"} (hide-phone-numbers)',
      'OBSERVED  write_file export.csv → 9 characters written (ran, because exports-need-review only observes',
      'DENIED    fetch_page four did not run. three-calls-a-run: three calls are enough for one run',
      'HELD      publish until a person decides: publish notes.txt for everybody to read?',
      'APPROVED  publish notes.txt → published',
      'What the hub now knows, 12 calls',
      'publisher  publish        call_approval_requested, call_approval_granted, call_executed',
      'crawler    fetch_page     call_denied (three-calls-a-run), api_key [REDACTED]',
      'Everything went as the contracts say.',
    ]) {
      expect(out).toContain(words);
    }
    expect(out).not.toContain('7946');
    expect(out).not.toContain('correct-horse');
    expect(out).not.toContain('k-123');
    nothingStays();
  }, 40_000);

  itAtNight(
    'waits for a person, who approves by the printed line',
    async () => {
      const child = start('--json');
      const ended = once(child, 'exit');
      const { steps, held, rest } = await untilHeld(child);
      const [, url = ''] = /(http:\S+)/.exec(held.approve) ?? [];
      const [, body = ''] = /-d '([^']+)'/.exec(held.approve) ?? [];
      const headers = [...held.approve.matchAll(/-H '([^:]+): ([^']+)'/g)].map(
        ([, name, value]) => [name ?? '', value ?? ''] as [string, string],
      );
      expect(held.approve).toMatch(/^curl -s -X PUT /);
      expect((await fetch(url, { method: 'PUT', headers, body })).status).toBe(200);
      expect((await ended)[0]).toBe(0);
      await rest;
      expect(steps.filter((step) => step.step === 'call').at(-1)).toMatchObject({
        tool: 'publish',
        outcome: 'approved',
      });
      expect(steps.filter((step) => step.step === 'event')).toHaveLength(12);
      expect(steps.at(-1)).toEqual({ step: 'done' });
      nothingStays();
    },
    40_000,
  );

  itAtNight(
    'cleans up when it is ended while it waits',
    async () => {
      const child = start('--json');
      const ended = once(child, 'exit');
      const { steps, rest } = await untilHeld(child);
      child.kill('SIGINT');
      expect((await ended)[0]).toBe(130);
      await rest;
      expect(steps.at(-1)).toEqual({ step: 'stopped' });
      nothingStays();
    },
    40_000,
  );

  itAtNight('explains itself, and refuses arguments it does not know', async () => {
    expect(await play('--help')).toMatchObject({ code: 0, out: expect.stringContaining('--once') });
    expect(await play('--twice')).toMatchObject({ code: 2, error: expect.stringContaining('--twice') });
    nothingStays();
  });
});
