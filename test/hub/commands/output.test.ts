// Texts of files and of a hub on a terminal: no control character of theirs is sent to it.
import { afterEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type FileProblem, parseText, refuseProblems } from '../../../src/hub/as-code/files.ts';
import { answer, runCommand, say } from '../../../src/hub/commands/output.ts';
import { HubError } from '../../../src/shared/error.ts';

const written: string[] = [];
const keep = (text: string | Uint8Array): boolean => {
  written.push(String(text));
  return true;
};
vi.spyOn(process.stderr, 'write').mockImplementation(keep);
vi.spyOn(process.stdout, 'write').mockImplementation(keep);
afterEach(() => written.splice(0));

it('a problem of a file is one line, whatever its name and its keys contain', async () => {
  const problems: FileProblem[] = [];
  const text = '"x\\n::error::no": 1\n"\\e[2K\\e[1A": 2\n';
  expect(parseText(text, 'contracts/\u001b]52;c;x\u0007.yaml', z.strictObject({}), problems)).toBeNull();
  expect(problems).toEqual([
    'contracts/␛]52;c;x␇.yaml:1: x␊::error::no is unknown',
    'contracts/␛]52;c;x␇.yaml:2: ␛[2K␛[1A is unknown',
  ]);
  expect(await runCommand(async () => refuseProblems(problems))).toBe(1);
  expect(written).toEqual([`Nothing was changed.\n${problems.join('\n')}\n`]);
});

it('lines, results and errors contain no control character', async () => {
  say('Reading \u001b[2K\u202e');
  await answer({ help: null, json: false }, async () => ({ result: {}, words: ['a\u009b1A', 'b'] }));
  await runCommand(async () => {
    throw new HubError('not_found', 'no \u001b[1A here');
  });
  expect(written).toEqual(['Reading ␛[2K‹U+202E›\n', 'a‹U+009B›1A\nb\n', 'no ␛[1A here\n']);
});
